#include "replayer/report/process_fields.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace heaptape::replayer {

namespace wire = schema::wire;

void set_process(wire::SampledProcess::Builder out, const schema::ProcessSample& process) {
  out.setAt(process.event);
  out.setTimeNs(process.time_ns);
  out.setAnonymousBytes(process.resident_bytes);
  out.setFileBytes(process.parts.file_bytes);
  out.setSharedBytes(process.parts.shared_bytes);
  out.setHugeBytes(process.parts.huge_bytes);
  if (!process.parts.malloc_bytes) return;
  auto parts = out.initAnonymous();
  parts.setMallocBytes(*process.parts.malloc_bytes);
  parts.setBesideMallocBytes(process.resident_bytes - *process.parts.malloc_bytes);
  parts.setStackBytes(process.parts.stack_bytes.value_or(0));
  const std::vector<schema::OwnedMemory>& owners = process.parts.owners;
  if (owners.empty()) return;
  auto list = parts.initOwners(static_cast<unsigned>(owners.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setOwner(owners[i].owner);
    list[i].setBytes(owners[i].bytes);
  }
}

namespace {

using schema::OwnedMemory;
using schema::ProcessSample;

// With the most bytes that each has in a sample, most first.
std::vector<OwnedMemory> main_owners(const std::vector<ProcessSample>& samples) {
  std::map<std::string, uint64_t> most;
  for (const ProcessSample& sample : samples) {
    for (const OwnedMemory& one : sample.parts.owners) {
      uint64_t& bytes = most[one.owner];
      bytes = std::max(bytes, one.bytes);
    }
  }
  std::vector<OwnedMemory> owners;
  for (const auto& [owner, bytes] : most) owners.push_back({owner, bytes});
  std::ranges::stable_sort(owners, std::greater(), &OwnedMemory::bytes);
  owners.resize(std::min(owners.size(), kMostListedOwners));
  return owners;
}

uint64_t bytes_of(const ProcessSample& sample, const std::string& owner) {
  const auto found = std::ranges::find(sample.parts.owners, owner, &OwnedMemory::owner);
  return found == sample.parts.owners.end() ? 0 : found->bytes;
}

}  // namespace

void set_process_timeline(wire::ProcessTimeline::Builder out,
                          const std::vector<ProcessSample>& samples) {
  const auto set = [&samples](auto list, auto value_of) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, value_of(samples[i]));
  };
  const auto size = static_cast<unsigned>(samples.size());
  set(out.initAt(size), [](const ProcessSample& one) { return one.event; });
  set(out.initTimeNs(size), [](const ProcessSample& one) { return one.time_ns; });
  set(out.initAnonymousBytes(size), [](const ProcessSample& one) { return one.resident_bytes; });
  set(out.initMallocBytes(size), [](const ProcessSample& one) { return *one.parts.malloc_bytes; });
  set(out.initStackBytes(size),
      [](const ProcessSample& one) { return one.parts.stack_bytes.value_or(0); });
  const std::vector<OwnedMemory> owners = main_owners(samples);
  auto list = out.initOwners(static_cast<unsigned>(owners.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const std::string& owner = owners[i].owner;
    list[i].setOwner(owner);
    set(list[i].initBytes(size), [&](const ProcessSample& one) { return bytes_of(one, owner); });
  }
}

}  // namespace heaptape::replayer
