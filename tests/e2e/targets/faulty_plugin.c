/* A plug-in that gives each block pages of its own, and breaks one promise when told to:
 * plugin:./libfaulty_plugin.so:fault=overlap. Most faults come with the third allocation. */
#define _GNU_SOURCE /* gettid */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heaptape_plugin.h"

enum { kNumberOfTheFaulty = 3 };
static const uint64_t kPage = HEAPTAPE_PAGE_BYTES;

static const char* const kFaults[] = {
    "none",         "overlap",      "misaligned",    "unaligned",      "outside",
    "wraps",        "short",        "commit_twice",  "commit_part",    "commit_outside",
    "commit_empty", "commit_wild",  "decommit_live", "decommit_alien", "decommit_part",
    "leak",         "create_null",  "create_fails",  "create_commits", "gives_up",
    "gives_up_0",   "absent_live",  "absent_order",  "absent_alien",   "absent_part",
    "absent_late",  "commit_late",  "work_falls",    "refusal",        "short_resize",
    "overlap_size", "double_fault", "moves_away",    "forgets",        NULL};

typedef struct model {
  const heaptape_host* host;
  const char* fault;
  uint64_t next; /* pages from here on are free */
  uint64_t last; /* the block made last */
  uint64_t allocations;
  uint64_t live;
  uint64_t work;
  uint64_t circumstances[2];   /* thread, time */
  uint64_t from_other_threads; /* allocations asked for by another than the first of the process */
} model;

static int has(const model* m, const char* fault) {
  return strcmp(m->fault, fault) == 0;
}

static void commit(const model* m, uint64_t begin, uint64_t end) {
  m->host->commit(m->host->context, begin, end);
}

static void decommit(const model* m, uint64_t begin, uint64_t end) {
  m->host->decommit(m->host->context, begin, end);
}

static void* create(const heaptape_host* host, const uint64_t* values) {
  model* m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->host = host;
  m->fault = kFaults[values[0]];
  m->next = host->window_begin;
  if (has(m, "create_fails")) host->fail(host->context, "the moon is not full");
  if (has(m, "create_commits")) commit(m, 4096, 8192);
  if (strncmp(m->fault, "create", 6) != 0) return m;
  free(m);
  return NULL;
}

static void destroy(void* self) {
  free(self);
}

static void change_memory_wrongly(model* m) {
  const uint64_t at = m->next + 16 * kPage;
  if (has(m, "commit_twice")) commit(m, m->last, m->next + kPage);
  if (has(m, "commit_part")) commit(m, at, at + 100);
  if (has(m, "commit_outside")) commit(m, m->host->window_end - kPage, m->host->window_end + kPage);
  if (has(m, "commit_empty")) commit(m, at, at);
  if (has(m, "commit_wild")) commit(m, UINT64_MAX - kPage + 1, 0);
  if (has(m, "decommit_live")) decommit(m, m->last, m->next);
  if (has(m, "decommit_alien")) decommit(m, at, at + kPage);
  if (has(m, "decommit_part")) decommit(m, m->last + 1, m->next);
  if (has(m, "gives_up")) m->host->fail(m->host->context, "it is too late");
  if (has(m, "gives_up_0")) m->host->fail(m->host->context, NULL);
  if (has(m, "absent_late")) m->host->absent(m->host->context, m->last, m->next);
  if (has(m, "double_fault")) {
    decommit(m, at, at + kPage);
    commit(m, at, at);
  }
}

static void misplace(const model* m, heaptape_block* block, uint64_t size, uint64_t alignment) {
  if (has(m, "overlap")) block->address = m->last + 16;
  if (has(m, "misaligned")) block->address += 8;
  if (has(m, "unaligned") && alignment > kPage) block->address += kPage;
  if (has(m, "outside")) block->usable_bytes += kPage;
  if (has(m, "wraps")) block->usable_bytes = UINT64_MAX;
  if (has(m, "short")) block->usable_bytes = size - 1;
}

static heaptape_block allocate(void* self, uint64_t size, uint64_t alignment, uint32_t flags) {
  model* m = self;
  const int is_faulty = ++m->allocations == kNumberOfTheFaulty;
  const uint64_t unit = alignment > kPage ? alignment : kPage;
  heaptape_block block = {(m->next + unit - 1) / unit * unit, (size / kPage + 1) * kPage};
  (void)flags;
  m->from_other_threads += gettid() != getpid();
  if (size > m->host->window_end - m->host->window_begin) {
    block.address = 0;
    return block;
  }
  if (is_faulty) change_memory_wrongly(m);
  commit(m, block.address, block.address + block.usable_bytes);
  m->next = block.address + block.usable_bytes;
  if (is_faulty) misplace(m, &block, size, alignment);
  m->last = block.address;
  ++m->live;
  m->work += is_faulty && has(m, "work_falls") ? UINT64_MAX : 1;
  return block;
}

static void release(void* self, uint64_t address) {
  model* m = self;
  (void)address; /* its pages stay */
  if (!has(m, "leak")) --m->live;
  if (has(m, "forgets")) --m->live;
  ++m->work;
}

static heaptape_block reallocate(void* self, uint64_t address, uint64_t size) {
  model* m = self;
  heaptape_block block = {address, kPage};
  if (has(m, "refusal")) {
    decommit(m, address, address + kPage);
    block.address = 0;
  } else if (has(m, "short_resize")) {
    block.usable_bytes = 10;
  } else if (has(m, "overlap_size")) {
    block.usable_bytes = 2 * kPage;
  } else if (has(m, "moves_away")) {
    block = allocate(m, size, 0, 0);
    decommit(m, address, address + kPage);
    --m->live;
  }
  return block;
}

static uint64_t live_blocks(void* self) {
  model* m = self;
  if (has(m, "commit_late")) commit(m, m->next, m->next + kPage);
  return m->live;
}

static void report_absent(void* self) {
  const model* m = self;
  const uint64_t free_page = m->host->window_begin; /* once the first block is freed */
  if (m->allocations == 0) return;
  if (has(m, "absent_live")) m->host->absent(m->host->context, m->last, m->last + kPage);
  if (has(m, "absent_alien")) m->host->absent(m->host->context, m->next, m->next + kPage);
  if (has(m, "absent_part")) m->host->absent(m->host->context, free_page, free_page + 8);
  if (has(m, "absent_order")) {
    m->host->absent(m->host->context, free_page, free_page + kPage);
    m->host->absent(m->host->context, free_page, free_page + kPage);
  }
}

static void read_counters(void* self, uint64_t* values) {
  const model* m = self;
  memcpy(values, m->circumstances, sizeof m->circumstances);
  values[2] = m->allocations;
  values[3] = m->from_other_threads;
}

static uint64_t work(void* self) {
  return ((const model*)self)->work;
}

static void set_thread(void* self, uint32_t thread) {
  ((model*)self)->circumstances[0] = thread;
}

static void set_time(void* self, uint64_t time_ns) {
  ((model*)self)->circumstances[1] = time_ns;
}

static const heaptape_parameter kParameters[] = {{"fault", "what to do wrong", 0, kFaults},
                                                 {"unused", "any number", 7, NULL}};
static const char* const kCounters[] = {"lastThread", "lastTime", "allocations",
                                        "fromOtherThreads"};

const heaptape_plugin* heaptape_plugin_v1(void) {
  static const heaptape_plugin plugin = {
      .struct_size = sizeof plugin,
      .abi_version = HEAPTAPE_PLUGIN_ABI,
      .name = "faulty",
      .description = "does wrong when told to",
      .granule_bytes = 16,
      .parameters = kParameters,
      .parameter_count = 2,
      .counter_names = kCounters,
      .counter_count = 4,
      .create = create,
      .destroy = destroy,
      .allocate = allocate,
      .reallocate = reallocate,
      .release = release,
      .read_counters = read_counters,
      .live_blocks = live_blocks,
      .report_absent = report_absent,
      .work = work,
      .work_unit = "calls",
      .set_thread = set_thread,
      .set_time = set_time,
  };
  return &plugin;
}
