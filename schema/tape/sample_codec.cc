#include "schema/tape/sample_codec.h"

#include <algorithm>

namespace heaptape::schema {
namespace {

std::vector<OwnedMemory> read_owners(capnp::List<wire::OwnedMemory>::Reader in,
                                     uint64_t most_bytes) {
  std::vector<OwnedMemory> owners;
  for (const auto owner : in) {
    const std::string_view name(owner.getOwner().begin(), owner.getOwner().size());
    add_owner(name, owner.getBytes(), most_bytes, owners);
  }
  return owners;
}

}  // namespace

void write_sample(wire::ProcessSample::Builder out, const ProcessSample& sample) {
  out.setEvent(sample.event);
  out.setTimeNs(sample.time_ns);
  out.setResidentBytes(sample.resident_bytes);
  auto regions = out.initRegions(static_cast<unsigned>(sample.regions.size()));
  for (unsigned i = 0; i < regions.size(); ++i) {
    regions[i].setBegin(sample.regions[i].begin);
    regions[i].setBytes(sample.regions[i].bytes());
  }
  out.setMallocIsKnown(sample.parts.malloc_bytes.has_value());
  out.setMallocBytes(sample.parts.malloc_bytes.value_or(0));
  out.setFileBytes(sample.parts.file_bytes);
  out.setSharedBytes(sample.parts.shared_bytes);
  out.setPeakBytes(sample.parts.peak_bytes);
  out.setStackIsKnown(sample.parts.stack_bytes.has_value());
  out.setStackBytes(sample.parts.stack_bytes.value_or(0));
  out.setHugeBytes(sample.parts.huge_bytes);
  const std::vector<OwnedMemory>& owners = sample.parts.owners;
  auto out_owners = out.initOwners(static_cast<unsigned>(owners.size()));
  for (unsigned i = 0; i < out_owners.size(); ++i) {
    out_owners[i].setOwner(owners[i].owner);
    out_owners[i].setBytes(owners[i].bytes);
  }
}

ProcessSample read_sample(wire::ProcessSample::Reader in) {
  ProcessSample sample{in.getEvent(), in.getTimeNs(), in.getResidentBytes(), {}};
  for (const auto region : in.getRegions()) {
    const uint64_t begin = region.getBegin();
    const uint64_t bytes = region.getBytes();
    if (begin >= base::kAddressLimit || bytes > base::kAddressLimit - begin) continue;
    sample.regions.push_back({begin, begin + bytes});
  }
  if (in.getMallocIsKnown()) {
    sample.parts.malloc_bytes = std::min(in.getMallocBytes(), sample.resident_bytes);
  }
  sample.parts.file_bytes = in.getFileBytes();
  sample.parts.shared_bytes = in.getSharedBytes();
  sample.parts.peak_bytes = in.getPeakBytes();
  if (in.getStackIsKnown() && sample.parts.malloc_bytes) {
    const uint64_t beside_bytes = sample.resident_bytes - *sample.parts.malloc_bytes;
    sample.parts.stack_bytes = std::min(in.getStackBytes(), beside_bytes);
  }
  sample.parts.huge_bytes = in.getHugeBytes();
  if (sample.parts.malloc_bytes) {
    sample.parts.owners =
        read_owners(in.getOwners(), sample.resident_bytes - *sample.parts.malloc_bytes -
                                        sample.parts.stack_bytes.value_or(0));
  }
  return sample;
}

}  // namespace heaptape::schema
