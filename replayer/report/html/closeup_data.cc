#include "replayer/report/html/closeup_data.h"

#include <algorithm>
#include <span>

#include "replayer/report/html/json_writer.h"

namespace heaptape::replayer {
namespace {

template <typename Item, typename Value>
void write_column(JsonWriter& out, const char* name, std::span<const Item> items, Value value) {
  out.name(name);
  out.open_list();
  for (const Item& item : items) out.number(uint64_t{value(item)});
  out.close_list();
}

template <typename Item, typename Address>
void write_steps(JsonWriter& out, std::span<const Item> items, uint64_t origin, Address address) {
  write_column(out, "step", items, [&](const Item& item) {
    const uint64_t before = origin;
    origin = address(item);
    return origin - before;
  });
}

void write_blocks(JsonWriter& out, std::span<const LiveBlock> blocks, uint64_t origin,
                  const FilmSites& sites) {
  out.open_object();
  write_steps(out, blocks, origin, [](const LiveBlock& block) { return block.address; });
  write_column(out, "usable", blocks, [](const LiveBlock& block) { return block.usable_bytes; });
  write_column(out, "asked", blocks, [](const LiveBlock& block) { return block.requested_bytes; });
  write_column(out, "birth", blocks, [](const LiveBlock& block) { return block.birth; });
  write_column(out, "site", blocks, [&sites](const LiveBlock& block) {
    const auto site = sites.close_by_birth.find(block.birth);
    return site == sites.close_by_birth.end() ? 0 : site->second;
  });
  out.close_object();
}

void write_holes(JsonWriter& out, std::span<const CloseHole> holes, uint64_t origin) {
  const auto number = [](size_t block) { return block == kNoBlock ? 0 : block + 1; };
  out.open_object();
  write_steps(out, holes, origin, [](const CloseHole& hole) { return hole.range.begin; });
  write_column(out, "bytes", holes, [](const CloseHole& hole) { return hole.range.bytes(); });
  write_column(out, "resident", holes, [](const CloseHole& hole) { return hole.resident_bytes; });
  write_column(out, "freed", holes, [](const CloseHole& hole) { return hole.last_free_at; });
  write_column(out, "before", holes, [&](const CloseHole& hole) { return number(hole.before); });
  write_column(out, "after", holes, [&](const CloseHole& hole) { return number(hole.after); });
  out.close_object();
}

void write_part(JsonWriter& out, const CloseupPart& part, const FilmSites& sites) {
  uint64_t origin = part.range.begin;
  if (!part.blocks.empty()) origin = std::min(origin, part.blocks.front().address);
  if (!part.holes.empty()) origin = std::min(origin, part.holes.front().range.begin);
  out.open_object();
  out.name("begin");
  out.address(part.range.begin);
  out.name("end");
  out.address(part.range.end);
  out.name("origin");
  out.address(origin);
  out.name("blocks");
  write_blocks(out, part.blocks, origin, sites);
  out.name("holes");
  write_holes(out, part.holes, origin);
  out.close_object();
}

}  // namespace

std::string closeups_json(const std::vector<Closeup>& closeups, const FilmSites& sites) {
  JsonWriter out;
  out.open_list();
  for (const Closeup& closeup : closeups) {
    out.open_object();
    out.field("at", closeup.at);
    out.name("parts");
    out.open_list();
    for (const CloseupPart& part : closeup.parts) write_part(out, part, sites);
    out.close_list();
    out.close_object();
  }
  out.close_list();
  return out.text();
}

}  // namespace heaptape::replayer
