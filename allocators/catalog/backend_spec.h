// The meaning of a backend spec (`-a` on the command line). The text is parsed here, once; other
// code asks the value.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "allocators/backend.h"
#include "allocators/catalog/library_choice.h"
#include "allocators/catalog/model_list.h"
#include "allocators/native/worker/worker_protocol.h"
#include "allocators/plugin/plugin_loader.h"
#include "base/parameters.h"
#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

enum class BackendKind : uint8_t {
  kRecorded,  // the recorded run, played back
  kNoop,      // the replay loop without an allocator
  kNative,    // a real malloc: glibc, FAMILY, FAMILY@X, lib:PATH
  kModel,     // model:NAME
  kPlugin,    // plugin:PATH
};

// Whether a replay repeats the calls by which the recorded program steered its allocator, and the
// settings of its environment.
enum class Steer : uint8_t { kAsRecorded, kOff };

// Facts about the replay that a backend may need.
struct BackendContext {
  const schema::TapeHeader* header = nullptr;  // of the tape; `recorded` needs it
  Touch touch = Touch::kPage;
  Threads threads = Threads::kOrdered;
  Clock clock = Clock::kTape;
  Answers answers = Answers::kPlacements;  // of real allocators and noop
  Steer steer = Steer::kAsRecorded;
  bool began_late = false;  // the recording, later than the program; of `recorded`
};

// A value: can be copied, and can make any number of backends.
struct BackendSpec {
  BackendKind kind = BackendKind::kNoop;
  std::string label;  // `text` if none is given
  // BACKEND as given: "glibc", "lib:./libmine.so", "model:ptmalloc:tcache_count=0".
  std::string text;
  base::Values options;                  // of a model or plug-in, with the defaults
  std::vector<std::string> given;        // the names of those options that `text` has; of a model
  std::vector<std::string> environment;  // NAME=VALUE, of a native backend
  // By kind: native, model, plug-in.
  std::variant<std::monostate, NativeLibrary, const ModelEntry*, Plugin> source;

  // Whether blocks are memory that can be touched.
  bool runs_real_code() const { return kind == BackendKind::kNative; }
  // Whether its running time is measured: a replay on it may be repeated.
  bool is_timed() const { return kind == BackendKind::kNative || kind == BackendKind::kNoop; }
  // The file that the spec names: a library or a plug-in. Empty if it is found by name.
  std::string file() const;
  // The allocator whose addresses it gives (see allocator_family); for a model, its name. Empty for
  // a plug-in, the recorded run and noop, which may give any.
  std::string family() const;
  // The allocator version that a model computes; empty if it is not a model, or a model of its own
  // design.
  std::string modelled_version() const;
  // A model whose addresses are its own, not those of another allocator.
  bool imitates_nobody() const;
  // Whether the time that it sees can change what it does, as far as known.
  bool sees_time() const;

  // A backend that has not been started. `context.header` must outlive it.
  std::unique_ptr<Backend> make(const BackendContext& context) const;
};

// SPEC of the command line: [label=]BACKEND [ENV=VALUE...], separated by blanks. A spec that parses
// can be made: its plug-in is loaded, which runs its constructors, and its options are checked.
// Fails with kUsage for an unknown allocator, option or variable (the message lists what there is),
// and as load_plugin does. A real allocator that is not installed parses, but fails to start.
Result<BackendSpec> parse_spec(const std::string& text);

}  // namespace heaptape::allocators
