#include "schema/tape/mapping_codec.h"

#include <string>

namespace heaptape::schema {
namespace {

capnp::Data::Reader data_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string string_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

}  // namespace

void write_mappings(wire::EventChunk::Builder out, const std::vector<CodeMapping>& mappings) {
  auto list = out.initMappings(static_cast<unsigned>(mappings.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const CodeMapping& mapping = mappings[i];
    list[i].setFrames(mapping.frames);
    list[i].setBegin(mapping.range.begin);
    list[i].setBytes(mapping.range.bytes());
    list[i].setFileOffset(mapping.file_offset);
    list[i].setPath(data_of(mapping.path));
    list[i].setBuildId(data_of(mapping.build_id));
    if (!mapping.function.empty()) list[i].setFunction(data_of(mapping.function));
  }
}

std::vector<CodeMapping> read_mappings(wire::EventChunk::Reader in) {
  std::vector<CodeMapping> mappings;
  for (const auto mapping : in.getMappings()) {
    const uint64_t begin = mapping.getBegin();
    const uint64_t bytes = mapping.getBytes();
    if (begin >= base::kAddressLimit || bytes > base::kAddressLimit - begin) continue;
    mappings.push_back({mapping.getFrames(),
                        {begin, begin + bytes},
                        mapping.getFileOffset(),
                        string_of(mapping.getPath()),
                        string_of(mapping.getBuildId()),
                        string_of(mapping.getFunction())});
  }
  return mappings;
}

}  // namespace heaptape::schema
