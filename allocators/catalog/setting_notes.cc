#include "allocators/catalog/setting_notes.h"

namespace heaptape::allocators {
namespace {

constexpr char kOnlyOneThread[] =
    " has no effect here: one thread makes all calls, so one arena serves them";
constexpr char kBackground[] =
    "background threads purge when the system lets them run: do not rely on when memory is "
    "returned";
constexpr char kPerProcessor[] =
    "each call uses the arena of the processor that the replay runs on, not of the recorded one: "
    "figures differ from replay to replay";

struct SettingNote {
  const char* family;
  const char* variable;
  const char* part;  // of the value; empty for any value
  const char* text;  // begins with a blank: follows the name of the setting
  bool only_of_one_thread;
};

constexpr SettingNote kNotes[] = {
    {"glibc", "MALLOC_ARENA_MAX", "", kOnlyOneThread, true},
    {"glibc", "MALLOC_ARENA_TEST", "", kOnlyOneThread, true},
    {"glibc", "GLIBC_TUNABLES", "glibc.malloc.arena_max", kOnlyOneThread, true},
    {"glibc", "GLIBC_TUNABLES", "glibc.malloc.arena_test", kOnlyOneThread, true},
    {"jemalloc", "MALLOC_CONF", "narenas:", kOnlyOneThread, true},
    {"jemalloc", "MALLOC_CONF", "background_thread:true", kBackground, false},
    {"jemalloc", "MALLOC_CONF", "percpu_arena:percpu", kPerProcessor, false},
    {"jemalloc", "MALLOC_CONF", "percpu_arena:phycpu", kPerProcessor, false},
};

// The user's text: the variable, or the part of it.
std::string name_of(const SettingNote& note) {
  std::string part = note.part;
  if (part.ends_with(':')) part.pop_back();
  return part.empty() ? note.variable : part;
}

}  // namespace

std::vector<std::string> setting_notes(const std::string& family,
                                       const std::vector<std::string>& environment,
                                       CallingThreads threads) {
  std::vector<std::string> notes;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    for (const SettingNote& note : kNotes) {
      if (note.family != family || entry.substr(0, equals) != note.variable) continue;
      if (note.only_of_one_thread && threads == CallingThreads::kSeveral) continue;
      if (entry.find(note.part, equals) == std::string::npos) continue;
      notes.push_back(*note.text == ' ' ? name_of(note) + note.text : note.text);
    }
  }
  return notes;
}

}  // namespace heaptape::allocators
