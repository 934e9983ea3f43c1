#include "schema/tape/mark_codec.h"

#include <string>

namespace heaptape::schema {

void write_marks(wire::EventChunk::Builder out, const std::vector<Mark>& marks) {
  auto list = out.initMarks(static_cast<unsigned>(marks.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const std::string& name = marks[i].name;
    list[i].setEvent(marks[i].event);
    list[i].setTimeNs(marks[i].time_ns);
    list[i].setName({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
  }
}

std::vector<Mark> read_marks(wire::EventChunk::Reader in) {
  std::vector<Mark> marks;
  uint64_t last = in.getFirstEvent();
  for (const auto mark : in.getMarks()) {
    const uint64_t event = mark.getEvent();
    if (event < last || event - in.getFirstEvent() > in.getCount()) continue;
    const capnp::Data::Reader bytes = mark.getName();
    const std::string_view name(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    if (!is_mark_name(name)) continue;
    marks.push_back({event, mark.getTimeNs(), std::string(name)});
    last = event;
  }
  return marks;
}

}  // namespace heaptape::schema
