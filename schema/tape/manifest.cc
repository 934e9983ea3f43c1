#include "schema/tape/manifest.h"

#include <capnp/message.h>

#include <algorithm>

#include "base/display_text.h"
#include "base/output_file.h"
#include "schema/json_escapes.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/tape/sample_codec.h"
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
    processes[i].setTitle(base::valid_utf8(process.title));
    processes[i].setInterval(process.interval);
    if (process.largest_sample) {
      write_sample(processes[i].initLargestSample(), *process.largest_sample);
    }
    if (process.live) {
      auto live = processes[i].initLive();
      live.setPeak(process.live->peak);
      live.setEnd(process.live->end);
    }
  }
  auto unrecorded = out.initUnrecorded(static_cast<unsigned>(manifest.unrecorded.size()));
  for (unsigned i = 0; i < unrecorded.size(); ++i) {
    unrecorded[i].setProgram(base::valid_utf8(manifest.unrecorded[i].program));
    unrecorded[i].setReason(manifest.unrecorded[i].reason);
    unrecorded[i].setTimes(manifest.unrecorded[i].times);
    const std::vector<std::string>& families = manifest.unrecorded[i].families;
    if (families.empty()) continue;
    set_words(unrecorded[i].initFamilies(static_cast<unsigned>(families.size())), families);
  }
  return json_text(out.asReader());
}

// Some 10,000 processes. The codec spends about 100 bytes on a JSON value, which may be two of
// text.
constexpr uint64_t kMaxManifestBytes = uint64_t{8} << 20;

Manifest decode_manifest(std::string_view text) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::Manifest>();
  const std::string plain = without_unicode_escapes(text);
  capnp::JsonCodec().decode(kj::arrayPtr(plain.data(), plain.size()), root);
  const wire::Manifest::Reader in = root.asReader();
  const auto words_of = [](auto list) {
    std::vector<std::string> words;
    for (const auto word : list) words.emplace_back(word.begin(), word.end());
    return words;
  };
  Manifest manifest;
  manifest.command = words_of(in.getCommand());
  for (const auto process : in.getProcesses()) {
    manifest.processes.push_back({.tape = process.getTape().cStr(),
                                  .pid = process.getPid(),
                                  .parent_pid = process.getParentPid(),
                                  .executable = process.getExecutable().cStr(),
                                  .command_line = words_of(process.getCommandLine()),
                                  .events = process.getEvents(),
                                  .bytes = process.getBytes(),
                                  .lost_events = process.getLostEvents(),
                                  .ended = process.getEnded().cStr(),
                                  .title = process.getTitle().cStr(),
                                  .interval = std::max(process.getInterval(), 1u)});
    if (process.hasLargestSample()) {
      manifest.processes.back().largest_sample = read_sample(process.getLargestSample());
    }
    if (process.hasLive()) {
      const auto live = process.getLive();
      manifest.processes.back().live = {live.getPeak(), live.getEnd()};
    }
  }
  for (const auto entry : in.getUnrecorded()) {
    manifest.unrecorded.push_back({entry.getProgram().cStr(), entry.getReason().cStr(),
                                   entry.getTimes(), words_of(entry.getFamilies())});
  }
  return manifest;
}

}  // namespace

bool is_name_beside(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

std::string title_of(const std::vector<std::string>& command_line) {
  constexpr size_t kLongest = 1024;
  std::string title;
  for (const std::string& word : command_line) {
    if (title.size() > kLongest) break;
    title += (title.empty() ? "" : " ") + word;
  }
  title.resize(std::min(title.size(), kLongest));
  title.resize(title.find_last_not_of(' ') + 1);  // setproctitle(3) leaves some
  return title;
}

base::Result<Manifest> parse_manifest(const std::string& path, std::string_view text) {
  return guard_kj(base::ErrorCode::kDamaged, base::quoted(path) + " is not a well-formed manifest",
                  [&] { return base::Result<Manifest>(decode_manifest(text)); });
}

base::Result<Manifest> read_manifest(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, kMaxManifestBytes));
  return parse_manifest(path, text);
}

base::Result<std::string> to_json(const Manifest& manifest) {
  return guard_kj(base::ErrorCode::kIo, "cannot write the manifest",
                  [&] { return base::Result<std::string>(encode_manifest(manifest)); });
}

}  // namespace heaptape::schema
