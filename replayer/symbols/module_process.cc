#include <cstdlib>
#include <string>

#include "replayer/symbols/code_places_codec.h"
#include "replayer/symbols/confined.h"
#include "replayer/symbols/module_reader.h"
#include "schema/tape/wire_words.h"

namespace heaptape::replayer {
namespace {

using Words = std::vector<uint64_t>;

// Empty if the answer does not fit a message.
Words encode(const ModuleAnswer& answer) {
  base::Result<Words> words =
      schema::build_message("the symbols of a module", [&](capnp::MessageBuilder& message) {
        auto out = message.initRoot<wire::ModuleAnswer>();
        out.setFinding(static_cast<uint8_t>(answer.finding));
        write_places(out.initPlaces(), answer.places);
      });
  return words ? std::move(*words) : Words();
}

// The module and the number of places are known here, so the message is not trusted for them.
base::Result<ModuleAnswer> decode(const Words& words, const CodeModule& module,
                                  size_t place_count) {
  const std::string damaged = "its result is damaged";
  return schema::guard_kj(base::ErrorCode::kDamaged, damaged, [&]() -> base::Result<ModuleAnswer> {
    schema::WordsReader reader(words);
    const auto in = reader.root<wire::ModuleAnswer>();
    const auto finding = static_cast<ModuleFinding>(in.getFinding());
    if (finding > kLastModuleFinding || in.getPlaces().getPlaces().size() != place_count) {
      return base::Error::damaged(damaged);
    }
    ModuleAnswer answer = {finding, read_places(in.getPlaces())};
    for (CodePlace& place : answer.places) place.module = module.path;
    return answer;
  });
}

}  // namespace

base::Result<ModuleAnswer> read_module_apart(const CodeModule& module,
                                             const std::vector<uint64_t>& offsets,
                                             const SymbolOptions& options) {
  const Confinement limits = {options.module_bytes, options.module_seconds};
  HEAPTAPE_ASSIGN_OR_RETURN(const Words words, run_confined(limits, [&] {
                              if (!options.debuginfod) unsetenv("DEBUGINFOD_URLS");
                              return encode(read_module(module, offsets, options));
                            }));
  return decode(words, module, offsets.size());
}

}  // namespace heaptape::replayer
