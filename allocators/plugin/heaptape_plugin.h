/* The C interface between heaptape and an allocator model of yours:
 *
 *   heaptape replay run.tape -a plugin:./libmine.so:name=value,...
 *
 * A plug-in is a shared library that exports one function, heaptape_plugin_v1(), which returns a
 * description of a model and the functions that make one and drive it. A model hands out simulated
 * addresses, which nobody reads or writes: it decides where blocks lie, and heaptape measures the
 * effect on memory. docs/howto-plugin.md has a walk-through; allocators/plugin/example/ is a
 * complete plug-in. C99 and C++11; this header needs only <stddef.h> and <stdint.h>.
 *
 * Versions. The structs below only ever grow, at their ends; existing members keep their place and
 * meaning. Each side says in struct_size how much of a struct it knows: heaptape takes members
 * beyond the end of a plug-in's struct as NULL or 0, and ignores members beyond its own. So
 * plug-ins work with both older and newer versions of heaptape. A change that breaks this would be
 * HEAPTAPE_PLUGIN_ABI 2 with a function of another name, and a library could export both.
 *
 * Ownership. Everything that heaptape_plugin_v1() returns is the plug-in's and must not change
 * until the process ends; heaptape never unloads a plug-in it has accepted. Everything heaptape
 * passes in is its own and valid during the call, except `host`, which is valid until destroy()
 * returns. All strings end with 0 and are UTF-8. Several models may exist at a time (-a given
 * twice): keep all state in the object that create() returns.
 *
 * Threads. heaptape makes all calls from one thread, and a plug-in makes its calls to the host from
 * within those, on the same thread.
 *
 * Errors. No function may throw or longjmp out. allocate() and reallocate() refuse by returning
 * address 0; that is counted and the replay goes on. host->fail() ends the replay with a sentence.
 * heaptape checks all of a model's answers (docs/howto-plugin.md, "What is checked") and ends the
 * replay at the first broken promise. But a plug-in is code in heaptape's own process: one that
 * crashes takes the replay with it, and one that hangs hangs it. */
#ifndef HEAPTAPE_PLUGIN_H
#define HEAPTAPE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPTAPE_PLUGIN_ABI 1u
#define HEAPTAPE_PAGE_BYTES 4096u

/* Put this before the definition of heaptape_plugin_v1(). */
#define HEAPTAPE_PLUGIN_EXPORT __attribute__((visibility("default")))

/* The services of heaptape to a model. `context` is the first argument of each call. */
typedef struct heaptape_host {
  uint32_t struct_size; /* bytes of this struct */
  uint32_t abi_version; /* HEAPTAPE_PLUGIN_ABI */
  void* context;

  /* Where the model may take memory: tens of terabytes, both ends multiples of 1 TiB. */
  uint64_t window_begin;
  uint64_t window_end;

  /* Takes memory, or gives it back: [begin, end), multiples of HEAPTAPE_PAGE_BYTES. One call may
   * give back what several took. A model may call these in create(), allocate(), reallocate(),
   * release(), set_thread() and set_time(); in destroy() they do nothing and need not be called:
   * memory that a model holds at the end is not a leak. */
  void (*commit)(void* context, uint64_t begin, uint64_t end);
  void (*decommit)(void* context, uint64_t begin, uint64_t end);

  /* In report_absent() only: a stretch of committed memory without contents. */
  void (*absent)(void* context, uint64_t begin, uint64_t end);

  /* The model cannot go on. The sentence is shown to the user; the replay ends when heaptape's
   * current call returns. In create(): return NULL afterwards. */
  void (*fail)(void* context, const char* sentence);
} heaptape_host;

/* Where a block is. The program may use usable_bytes from `address` on: at least the size it
 * requested. address 0: there is none. */
typedef struct heaptape_block {
  uint64_t address;
  uint64_t usable_bytes;
} heaptape_block;

/* A number that the user can set in the spec, or one of several words. Names of parameters and
 * counters are a letter, then letters, digits and '_', at most 64 characters. "check" is taken. */
typedef struct heaptape_parameter {
  const char* name;
  const char* description;    /* one line */
  uint64_t default_value;     /* with choices: the index of one */
  const char* const* choices; /* NULL: any number. Else words, the last one followed by NULL */
} heaptape_parameter;

#define HEAPTAPE_ZEROED 1u /* flag of allocate(): as by calloc */

typedef struct heaptape_plugin {
  uint32_t struct_size; /* sizeof(heaptape_plugin) */
  uint32_t abi_version; /* HEAPTAPE_PLUGIN_ABI */
  const char* name;
  const char* description; /* one line */

  uint32_t granule_bytes;  /* every block begins on a multiple of it: 8, 16, 32 or 64 */
  uint32_t min_hole_bytes; /* a smaller gap could hold no block; 0 = granule_bytes */

  const heaptape_parameter* parameters;
  size_t parameter_count;
  const char* const* counter_names; /* in the report and for --fail-if: counters.NAME */
  size_t counter_count;

  /* `values` are those of the parameters, in their order. Returns NULL on failure. */
  void* (*create)(const heaptape_host* host, const uint64_t* values);
  /* Not called after a broken promise or fail(): the process is about to end. */
  void (*destroy)(void* model);

  /* A new block. `size` may be 0. `alignment` is a power of two, or 0: the model's own. */
  heaptape_block (*allocate)(void* model, uint64_t size, uint64_t alignment, uint32_t flags);
  /* `address` is that of a live block, size > 0. Returns where the block is now; address 0:
   * refused, and the block is unchanged. */
  heaptape_block (*reallocate)(void* model, uint64_t address, uint64_t size);
  /* `address` is that of a live block. */
  void (*release)(void* model, uint64_t address);

  /* All below may be NULL. */

  /* Needed with counter_count > 0: fills in values[0 .. counter_count - 1]. */
  void (*read_counters)(void* model, uint64_t* values);
  /* How many blocks the model believes to be live; heaptape compares this with its own count. */
  uint64_t (*live_blocks)(void* model);
  /* Calls host->absent for each stretch of whole pages that is committed but empty (purged,
   * never touched), ascending. Without it, all committed memory counts as resident. */
  void (*report_absent)(void* model);
  /* Steps of search and moving so far, never falling, and their unit ("nodes visited"), for
   * the growth check. Called after every call that has work to do. */
  uint64_t (*work)(void* model);
  const char* work_unit; /* needed with work() */
  /* The recorded thread that makes the following calls: small numbers, the first is 0. */
  void (*set_thread)(void* model, uint32_t thread);
  /* The time of the recorded run, in nanoseconds, never falling; every few hundred calls. */
  void (*set_time)(void* model, uint64_t time_ns);
} heaptape_plugin;

/* The plug-in's export. Called once for each -a that names the plug-in. */
HEAPTAPE_PLUGIN_EXPORT const heaptape_plugin* heaptape_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
