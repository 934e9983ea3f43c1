#include "schema/tape/manifest.h"

#include <capnp/message.h>

#include "base/display_text.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/tape/tape.capnp.h"

namespace heaptape::schema {
namespace {

std::string encode_manifest(const Manifest& manifest) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::Manifest>();
  out.setVersion(kManifestVersion);
  const auto set_words = [](auto list, const std::vector<std::string>& words) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, base::valid_utf8(words[i]));
  };
  set_words(out.initCommand(static_cast<unsigned>(manifest.command.size())), manifest.command);
  auto processes = out.initProcesses(static_cast<unsigned>(manifest.processes.size()));
  for (unsigned i = 0; i < processes.size(); ++i) {
    const ManifestProcess& process = manifest.processes[i];
    processes[i].setTape(base::valid_utf8(process.tape));
    processes[i].setPid(process.pid);
    processes[i].setParentPid(process.parent_pid);
    processes[i].setExecutable(base::valid_utf8(process.executable));
    set_words(processes[i].initCommandLine(static_cast<unsigned>(process.command_line.size())),
              process.command_line);
    processes[i].setEvents(process.events);
    processes[i].setBytes(process.bytes);
    processes[i].setLostEvents(process.lost_events);
    processes[i].setEnded(process.ended);
  }
  auto unrecorded = out.initUnrecorded(static_cast<unsigned>(manifest.unrecorded.size()));
  for (unsigned i = 0; i < unrecorded.size(); ++i) {
    unrecorded[i].setProgram(base::valid_utf8(manifest.unrecorded[i].program));
    unrecorded[i].setReason(manifest.unrecorded[i].reason);
    unrecorded[i].setTimes(manifest.unrecorded[i].times);
  }
  return json_text(out.asReader());
}

}  // namespace

base::Result<std::string> to_json(const Manifest& manifest) {
  return guard_kj(base::ErrorCode::kIo, "cannot write the manifest",
                  [&] { return base::Result<std::string>(encode_manifest(manifest)); });
}

}  // namespace heaptape::schema
