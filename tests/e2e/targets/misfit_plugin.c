/* A plug-in whose description of itself is wrong, in the way that HEAPTAPE_MISFIT says. */
#include <stdlib.h>
#include <string.h>

#include "heaptape_plugin.h"

static void* create(const heaptape_host* host, const uint64_t* values) {
  static int model;
  return (void)host, (void)values, &model;
}
static void destroy(void* self) {
  (void)self;
}
static heaptape_block allocate(void* self, uint64_t size, uint64_t alignment, uint32_t flags) {
  const heaptape_block none = {0, 0};
  return (void)self, (void)size, (void)alignment, (void)flags, none;
}
static heaptape_block reallocate(void* self, uint64_t address, uint64_t size) {
  const heaptape_block none = {0, 0};
  return (void)self, (void)address, (void)size, none;
}
static void release(void* self, uint64_t address) {
  (void)self, (void)address;
}
static uint64_t work(void* self) {
  return (void)self, 0;
}

static char very_long[1 << 20];
static const char* counters[2] = {"good", "bad"};
static const char* choices[3] = {"one", "two", NULL};
static heaptape_parameter parameters[2] = {{"first", "one of two", 0, choices},
                                           {"second", NULL, 5, NULL}};
/* As a later version of the header would have it. */
static struct {
  heaptape_plugin table;
  void* later[4];
} grown;

static void spoil_table(heaptape_plugin* p, const char* misfit) {
#define IF(name) if (strcmp(misfit, #name) == 0)
  IF(version_0) p->abi_version = 0;
  IF(version_2) p->abi_version = 2;
  IF(short_table) p->struct_size = 8;
  IF(grown_table) p->struct_size = sizeof grown;
  IF(no_name) p->name = NULL;
  IF(empty_name) p->name = "";
  IF(granule_0) p->granule_bytes = 0;
  IF(granule_24) p->granule_bytes = 24;
  IF(granule_128) p->granule_bytes = 128;
  IF(no_create) p->create = NULL;
  IF(no_destroy) p->destroy = NULL;
  IF(no_allocate) p->allocate = NULL;
  IF(no_reallocate) p->reallocate = NULL;
  IF(no_release) p->release = NULL;
  IF(no_work_unit) p->work = work;
  IF(no_read_counters) p->counter_count = 1;
  IF(no_counters) p->counter_count = 1, p->counter_names = NULL;
  IF(no_parameters) p->parameters = NULL;
  IF(wild_parameters) p->parameter_count = SIZE_MAX;
  IF(wild_counters) p->counter_count = SIZE_MAX;
}

static void spoil_names(const char* misfit) {
  IF(counter_blank) counters[1] = "bad name";
  IF(counter_op) counters[1] = "bad>5";
  IF(counter_null) counters[1] = NULL;
  IF(counter_empty) counters[1] = "";
  IF(counter_digit) counters[1] = "9lives";
  IF(counter_long) counters[1] = memset(very_long, 'x', sizeof very_long);
  IF(counter_utf8) counters[1] = "Z\303\244hler\033[31m";
  IF(counter_twice) counters[1] = "good";
  IF(parameter_null) parameters[1].name = NULL;
  IF(parameter_equals) parameters[1].name = "a=b";
  IF(parameter_twice) parameters[1].name = "first";
  IF(parameter_check) parameters[1].name = "check";
  IF(choice_default) parameters[0].default_value = 2;
  IF(choice_comma) choices[1] = "a,b";
  IF(choice_twice) choices[1] = "one";
  IF(choice_none) choices[0] = NULL;
#undef IF
}

static void read_counters(void* self, uint64_t* values) {
  (void)self;
  values[0] = values[1] = 1;
}

const heaptape_plugin* heaptape_plugin_v1(void) {
  const heaptape_plugin good = {.struct_size = sizeof good,
                                .abi_version = HEAPTAPE_PLUGIN_ABI,
                                .name = "misfit",
                                .granule_bytes = 16,
                                .parameters = parameters,
                                .parameter_count = 2,
                                .counter_names = counters,
                                .create = create,
                                .destroy = destroy,
                                .allocate = allocate,
                                .reallocate = reallocate,
                                .release = release};
  const char* misfit = getenv("HEAPTAPE_MISFIT");
  if (misfit == NULL) misfit = "";
  if (strcmp(misfit, "null_table") == 0) return NULL;
  grown.table = good;
  if (strncmp(misfit, "counter_", 8) == 0) {
    grown.table.read_counters = read_counters;
    grown.table.counter_count = 2;
  }
  if (strcmp(misfit, "wild_counters") == 0) grown.table.read_counters = read_counters;
  if (strcmp(misfit, "no_counters") == 0) grown.table.read_counters = read_counters;
  counters[1] = "bad";
  choices[0] = "one", choices[1] = "two";
  parameters[0].default_value = 0, parameters[1].name = "second";
  spoil_table(&grown.table, misfit);
  spoil_names(misfit);
  return &grown.table;
}
