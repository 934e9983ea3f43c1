# The first step of an installation: which shared directories does it make?
# `./dev uninstall` removes those again once they are empty, and no others.
set(heaptape_shared_directories
  bin include lib lib/cmake share share/bash-completion share/bash-completion/completions share/doc
  share/fish share/fish/vendor_completions.d share/man share/man/man1 share/zsh
  share/zsh/site-functions)
set(heaptape_kept_directories)
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
foreach(directory IN LISTS heaptape_shared_directories)
  if(EXISTS $ENV{DESTDIR}${prefix}/${directory})
    list(APPEND heaptape_kept_directories ${directory})
  endif()
endforeach()
