# cmake -D BUILD=... -D SOURCE=... -D PYTHON=... -D PREFIX=... -P install_test.cmake: installs, then works from
# there: records, replays, and builds the example plug-in as its users do. Then uninstalls.
file(REMOVE_RECURSE ${PREFIX})
file(MAKE_DIRECTORY ${PREFIX}/include)
function(must_work)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${result}: ${output}${error}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
must_work(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})
set(heaptape ${PREFIX}/bin/heaptape)
must_work(${heaptape} record -o ${PREFIX}/true.tape -- /bin/ls ${PREFIX})
must_work(${heaptape} verify ${PREFIX}/true.tape)
must_work(${heaptape} replay ${PREFIX}/true.tape -a glibc -a model:runs)

# A file of an older installation, which the new one does not have, is still ours.
file(WRITE ${PREFIX}/lib/heaptape/older "older")
file(SHA256 ${PREFIX}/lib/heaptape/older hash)
file(APPEND ${PREFIX}/share/heaptape/install-manifest.txt "${hash}  lib/heaptape/older\n")
must_work(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})

# A preload library that is damaged is refused before the program starts.
set(preload ${PREFIX}/lib/heaptape/libheaptape-interposer.so)
file(COPY_FILE ${preload} ${PREFIX}/whole.so)
foreach(bytes IN ITEMS 0 5000)
  execute_process(COMMAND head -c ${bytes} ${PREFIX}/whole.so OUTPUT_FILE ${preload})
  execute_process(COMMAND ${heaptape} record -o ${PREFIX}/none.tape -- /bin/ls ${PREFIX}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 2 OR output OR NOT error MATCHES "part of heaptape is damaged")
    message(FATAL_ERROR "with ${bytes} bytes of the preload library: ${result}: ${output}${error}")
  endif()
endforeach()
file(COPY_FILE ${PREFIX}/whole.so ${preload})

foreach(file IN ITEMS man/man1/heaptape.1 man/man1/heaptape-record.1 fish/vendor_completions.d/heaptape.fish
                      bash-completion/completions/heaptape zsh/site-functions/_heaptape)
  if(NOT EXISTS ${PREFIX}/share/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

set(plugin_build ${PREFIX}/plugin-build)
must_work(${CMAKE_COMMAND} -G Ninja -S ${PREFIX}/share/doc/heaptape/example-plugin -B ${plugin_build}
          -D CMAKE_PREFIX_PATH=${PREFIX})
must_work(${CMAKE_COMMAND} --build ${plugin_build})
must_work(${heaptape} scenario fill -o ${PREFIX}/fill.tape)
must_work(${heaptape} replay ${PREFIX}/fill.tape -a plugin:${plugin_build}/libsize_classes.so)
if(NOT output MATCHES "24\\.4 MiB")  # 391 slabs of 64 KiB
  message(FATAL_ERROR "the example does not commit what it should: ${output}")
endif()

# The model that docs/howto-plugin.md spells out.
file(READ ${PREFIX}/share/doc/heaptape/docs/howto-plugin.md page)
string(FIND "${page}" "```c\n" begin)
math(EXPR begin "${begin} + 5")
string(SUBSTRING "${page}" ${begin} -1 page)
string(FIND "${page}" "```" length)
string(SUBSTRING "${page}" 0 ${length} source)
file(WRITE ${PREFIX}/bump.c "${source}")
must_work(cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC -I ${PREFIX}/include/heaptape
          ${PREFIX}/bump.c -o ${PREFIX}/libbump.so)
must_work(${heaptape} replay ${PREFIX}/fill.tape -a plugin:${PREFIX}/libbump.so)
if(NOT output MATCHES "22\\.9 MiB")  # 100,000 blocks of 240 bytes
  message(FATAL_ERROR "the model of the page does not commit what it should: ${output}")
endif()

# A directory that was there before stays, and so does what the manifest does not list: our tapes.
must_work(${PYTHON} ${SOURCE}/cmake/uninstall.py ${PREFIX})
file(GLOB left LIST_DIRECTORIES true RELATIVE ${PREFIX} ${PREFIX}/*)
list(FILTER left EXCLUDE REGEX "\\.(tape|json|c|so)$|^plugin-build$")
if(NOT left STREQUAL "include")
  message(FATAL_ERROR "uninstalling leaves: ${left}")
endif()
file(REMOVE_RECURSE ${PREFIX})
