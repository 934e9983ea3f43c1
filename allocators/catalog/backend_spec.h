// What a backend spec (`-a` of the command line) names. The text is parsed here, once; whoever
// needs to know what it says asks the value.
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

// What a backend may need to know of the replay.
struct BackendContext {
  const schema::TapeHeader* header = nullptr;  // of the tape; `recorded` needs it
  Touch touch = Touch::kPage;
  Threads threads = Threads::kOrdered;
  Clock clock = Clock::kTape;
};

// A value: it can be copied, and made into any number of backends.
struct BackendSpec {
  BackendKind kind = BackendKind::kNoop;
  std::string label;  // `text` where none is given
  // BACKEND as given: "glibc", "lib:./libmine.so", "model:ptmalloc:tcache_count=0".
  std::string text;
  base::Values options;                  // of a model or plug-in, with the defaults
  std::vector<std::string> environment;  // NAME=VALUE, of a native backend
  // By kind: native, model, plug-in.
  std::variant<std::monostate, NativeLibrary, const ModelEntry*, Plugin> source;

  // Whether blocks are memory that can be touched.
  bool runs_real_code() const { return kind == BackendKind::kNative; }
  // Whether how long it takes is measured: a replay on it may be repeated.
  bool is_timed() const { return kind == BackendKind::kNative || kind == BackendKind::kNoop; }
  // The file that the spec names: a library or a plug-in. Empty for what is found by name.
  std::string file() const;
  // The allocator whose addresses it gives (see allocator_family), a model by its name. Empty for
  // what may give those of any: a plug-in, the recorded run, noop.
  std::string family() const;
  // The version of that allocator which a model computes; empty: no model, or one of its own kind.
  std::string modelled_version() const;
  // A model whose addresses are those of no allocator but itself.
  bool imitates_nobody() const;
  // Whether the time that it sees can change what it does, as far as that is known.
  bool sees_time() const;

  // A backend that has not been started. `context.header` must live as long as it.
  std::unique_ptr<Backend> make(const BackendContext& context) const;
};

// SPEC of the command line: [label=]BACKEND [ENV=VALUE...], separated by blanks. What parses can be
// made: a plug-in is loaded, which runs its constructors, and its options are checked. Fails with
// kUsage for words that make no sense (an unknown allocator, option or variable; the message lists
// what there is), and as load_plugin does. A real allocator that is not here parses: starting it
// fails.
Result<BackendSpec> parse_spec(const std::string& text);

}  // namespace heaptape::allocators
