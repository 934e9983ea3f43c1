#include "replayer/report/allocator_list.h"

#include <capnp/message.h>

#include "base/number_text.h"
#include "base/version.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;
using allocators::BackendKind;
using allocators::BackendSpec;

const char* kind_name(BackendKind kind) {
  switch (kind) {
    case BackendKind::kRecorded:
      return "recorded";
    case BackendKind::kNoop:
      return "noop";
    case BackendKind::kNative:
      return "native";
    case BackendKind::kModel:
      return "model";
    case BackendKind::kPlugin:
      return "plugin";
  }
  return "";
}

std::string spec_text(const BackendSpec& spec) {
  std::string text = spec.text;
  for (const std::string& variable : spec.environment) text += " " + variable;
  return text;
}

void set_engine(wire::AllocatorList::Engine::Builder out, const std::vector<std::string>& ids) {
  out.setVersion(base::kVersion);
  auto build_ids = out.initBuildIds(static_cast<unsigned>(ids.size()));
  for (unsigned i = 0; i < build_ids.size(); ++i) build_ids.set(i, base::hex_text(ids[i]));
}

void set_allocator(wire::AllocatorList::Allocator::Builder out, const ListedAllocator& listed) {
  out.setLabel(listed.spec.label);
  out.setSpec(spec_text(listed.spec));
  out.setKind(kind_name(listed.spec.kind));
  out.setAvailable(listed.is_available);
  if (!listed.spec.family().empty()) out.setFamily(listed.spec.family());
  if (!listed.version.empty()) out.setVersion(listed.version);
  if (!listed.library.empty()) out.setLibrary(listed.library);
  if (!listed.build_id.empty()) out.setBuildId(base::hex_text(listed.build_id));
}

}  // namespace

base::Result<std::string> allocator_list_json(const AllocatorList& list) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the allocators as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto root = message.initRoot<wire::AllocatorList>();
                            root.setVersion(wire::REPORT_VERSION);
                            set_engine(root.initEngine(), list.engine_build_ids);
                            auto out =
                                root.initAllocators(static_cast<unsigned>(list.allocators.size()));
                            for (unsigned i = 0; i < out.size(); ++i)
                              set_allocator(out[i], list.allocators[i]);
                            return schema::json_text(root.asReader());
                          });
}

}  // namespace heaptape::replayer
