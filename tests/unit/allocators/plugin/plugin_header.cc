// Compiled as C++11 by tests/CMakeLists.txt; the plug-ins under tests/e2e/targets are C99. What is
// asserted here is promised for as long as there is ABI version 1.
#include "heaptape_plugin.h"

static_assert(offsetof(heaptape_plugin, struct_size) == 0, "read before anything else");
static_assert(offsetof(heaptape_plugin, abi_version) == 4, "read before anything else");
static_assert(offsetof(heaptape_plugin, name) == 8, "");
static_assert(offsetof(heaptape_plugin, parameters) == 32, "");
static_assert(offsetof(heaptape_plugin, create) == 64, "");
static_assert(offsetof(heaptape_plugin, release) == 96, "");
static_assert(offsetof(heaptape_plugin, set_time) == 152, "");
static_assert(offsetof(heaptape_host, context) == 8, "");
static_assert(offsetof(heaptape_host, commit) == 32, "");
static_assert(offsetof(heaptape_host, fail) == 56, "");
static_assert(sizeof(heaptape_parameter) == 32, "lies in arrays: can never grow");
static_assert(sizeof(heaptape_block) == 16, "returned in two registers");
