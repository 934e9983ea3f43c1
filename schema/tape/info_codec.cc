#include "schema/tape/info_codec.h"

#include <capnp/message.h>

#include <string>
#include <utility>

#include "schema/kj_guard.h"
#include "schema/tape/allocator_settings.h"
#include "schema/tape/sample_codec.h"
#include "schema/tape/tape.capnp.h"
#include "schema/tape/wire_words.h"

namespace heaptape::schema {
namespace {

capnp::Data::Reader as_data(const std::string& text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

std::string as_string(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

void write(const std::vector<InnerAllocator>& files, wire::Summary::Builder summary) {
  if (files.empty()) return;
  auto out = summary.initInnerAllocators(static_cast<unsigned>(files.size()));
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setFile(as_data(files[i].file));
    auto families = out[i].initFamilies(static_cast<unsigned>(files[i].families.size()));
    for (unsigned j = 0; j < families.size(); ++j) families.set(j, files[i].families[j]);
  }
}

std::vector<InnerAllocator> read_inner_allocators(wire::Summary::Reader summary) {
  std::vector<InnerAllocator> files;
  for (const auto in : summary.getInnerAllocators()) {
    InnerAllocator file{as_string(in.getFile()), {}};
    for (const auto family : in.getFamilies()) file.families.emplace_back(family.cStr());
    if (!file.families.empty()) files.push_back(std::move(file));
  }
  return files;
}

void set_stack_sizes(wire::Header::Builder header, const std::vector<SizeRange>& sizes) {
  if (sizes.empty()) return;
  auto out = header.initStackSizes(static_cast<unsigned>(2 * sizes.size()));
  for (unsigned i = 0; i < sizes.size(); ++i) {
    out.set(2 * i, sizes[i].least);
    out.set(2 * i + 1, sizes[i].most);
  }
}

// Without those that no recorder writes.
std::vector<SizeRange> stack_sizes(wire::Header::Reader header) {
  constexpr unsigned kMost = 64;  // more than any recorder writes
  std::vector<SizeRange> sizes;
  const auto in = header.getStackSizes();
  for (unsigned i = 0; i + 1 < in.size() && i < 2 * kMost; i += 2) {
    if (in[i] != 0 && in[i] <= in[i + 1]) sizes.push_back({in[i], in[i + 1]});
  }
  return sizes;
}

}  // namespace

base::Result<std::vector<uint64_t>> encode(const TapeHeader& header) {
  return build_message("the header of a tape", [&](capnp::MessageBuilder& message) {
    auto out = message.initRoot<wire::Header>();
    out.setWriter(header.writer);
    auto words = out.initCommandLine(static_cast<unsigned>(header.command_line.size()));
    for (unsigned i = 0; i < words.size(); ++i) words.set(i, as_data(header.command_line[i]));
    out.setExecutable(as_data(header.executable));
    out.setAllocator(as_data(header.allocator));
    out.setPid(header.pid);
    out.setParentPid(header.parent_pid);
    out.setPageBytes(header.page_bytes);
    out.setStartUnixNs(header.start_unix_ns);
    out.setInitialBreak(header.initial_break);
    out.setClock(static_cast<uint8_t>(header.clock));
    out.setStackMode(static_cast<uint8_t>(header.stacks.mode));
    out.setStackDepth(header.stacks.depth);
    out.setStackEveryBytes(header.stacks.every_bytes);
    set_stack_sizes(out, header.stacks.sizes);
    // Else the header stays as readers of older tapes know it.
    if (!header.origin.format.empty()) {
      out.setImportedFrom(header.origin.format);
      out.setAbsent(header.origin.absent);
    }
    const RecordedAllocator& allocator = header.recorded_allocator;
    if (!allocator.family.empty()) out.setAllocatorFamily(allocator.family);
    if (!allocator.version.empty()) out.setAllocatorVersion(allocator.version);
    if (!allocator.libc.empty()) out.setLibc(allocator.libc);
    if (header.settings.empty()) return;
    auto settings = out.initSettings(static_cast<unsigned>(header.settings.size()));
    for (unsigned i = 0; i < settings.size(); ++i) settings.set(i, as_data(header.settings[i]));
  });
}

base::Result<TapeHeader> decode_header(std::span<const uint64_t> words) {
  return guard_kj(base::ErrorCode::kDamaged, "its header is not well-formed",
                  [&]() -> base::Result<TapeHeader> {
                    WordsReader reader(words);
                    const auto in = reader.root<wire::Header>();
                    TapeHeader header;
                    header.writer = in.getWriter().cStr();
                    for (const auto word : in.getCommandLine()) {
                      header.command_line.push_back(as_string(word));
                    }
                    header.executable = as_string(in.getExecutable());
                    header.allocator = as_string(in.getAllocator());
                    header.pid = in.getPid();
                    header.parent_pid = in.getParentPid();
                    header.page_bytes = in.getPageBytes();
                    header.start_unix_ns = in.getStartUnixNs();
                    header.initial_break = in.getInitialBreak();
                    header.clock = static_cast<StampClock>(in.getClock());
                    header.stacks = {static_cast<StackMode>(in.getStackMode()), in.getStackDepth(),
                                     in.getStackEveryBytes(), stack_sizes(in)};
                    header.origin = {in.getImportedFrom().cStr(), in.getAbsent()};
                    header.recorded_allocator = {in.getAllocatorFamily().cStr(),
                                                 in.getAllocatorVersion().cStr(),
                                                 in.getLibc().cStr()};
                    for (const auto setting : in.getSettings()) {
                      const std::string text = as_string(setting);
                      const bool has_room = header.settings.size() < kMostSettings;
                      if (has_room && is_plain_setting(text)) header.settings.push_back(text);
                    }
                    return header;
                  });
}

base::Result<std::vector<uint64_t>> encode(const TapeSummary& summary) {
  return build_message("the summary of a tape", [&](capnp::MessageBuilder& message) {
    auto out = message.initRoot<wire::Summary>();
    out.setEvents(summary.events);
    out.setAllocations(summary.allocations);
    out.setFrees(summary.frees);
    out.setReallocations(summary.reallocations);
    out.setFailed(summary.failed);
    out.setThreads(summary.threads);
    out.setLostEvents(summary.losses.lost_events);
    out.setLostRingFull(summary.losses.causes.ring_full);
    out.setLostRecorderStopped(summary.losses.causes.recorder_stopped);
    out.setLostNoRing(summary.losses.causes.no_ring);
    out.setLostLeftHooks(summary.losses.causes.left_hooks);
    out.setLostMalformed(summary.losses.causes.malformed);
    out.setLostUnknownFrees(summary.losses.causes.unknown_frees);
    out.setLostDoubleFrees(summary.losses.causes.double_frees);
    out.setUnrepairedInversions(summary.losses.unrepaired_inversions);
    out.setLostRanges(summary.losses.lost_ranges);
    out.setRepairedInversions(summary.repaired_inversions);
    out.setUnknownFrees(summary.unknown_frees);
    out.setNestedCalls(summary.nested_calls);
    out.setBootstrapCalls(summary.bootstrap_calls);
    out.setStalls(summary.stalls);
    out.setStallNs(summary.stall_ns);
    out.setDurationNs(summary.duration_ns);
    out.setLateNs(summary.late_ns);
    out.setEndReason(static_cast<uint8_t>(summary.end_reason));
    out.setEndStatus(summary.end_status);
    if (summary.largest_sample) write_sample(out.initLargestSample(), *summary.largest_sample);
    write(summary.inner_allocators, out);
  });
}

base::Result<TapeSummary> decode_summary(std::span<const uint64_t> words) {
  return guard_kj(base::ErrorCode::kDamaged, "its summary is not well-formed",
                  [&]() -> base::Result<TapeSummary> {
                    WordsReader reader(words);
                    const auto in = reader.root<wire::Summary>();
                    TapeSummary summary;
                    summary.events = in.getEvents();
                    summary.allocations = in.getAllocations();
                    summary.frees = in.getFrees();
                    summary.reallocations = in.getReallocations();
                    summary.failed = in.getFailed();
                    summary.threads = in.getThreads();
                    summary.losses.lost_events = in.getLostEvents();
                    summary.losses.causes = {in.getLostRingFull(),   in.getLostRecorderStopped(),
                                             in.getLostNoRing(),     in.getLostLeftHooks(),
                                             in.getLostMalformed(),  in.getLostUnknownFrees(),
                                             in.getLostDoubleFrees()};
                    summary.losses.unrepaired_inversions = in.getUnrepairedInversions();
                    summary.losses.lost_ranges = in.getLostRanges();
                    summary.repaired_inversions = in.getRepairedInversions();
                    summary.unknown_frees = in.getUnknownFrees();
                    summary.nested_calls = in.getNestedCalls();
                    summary.bootstrap_calls = in.getBootstrapCalls();
                    summary.stalls = in.getStalls();
                    summary.stall_ns = in.getStallNs();
                    summary.duration_ns = in.getDurationNs();
                    summary.late_ns = in.getLateNs();
                    summary.end_reason = static_cast<EndReason>(in.getEndReason());
                    summary.end_status = in.getEndStatus();
                    if (in.hasLargestSample()) {
                      summary.largest_sample = read_sample(in.getLargestSample());
                    }
                    summary.inner_allocators = read_inner_allocators(in);
                    return summary;
                  });
}

base::Result<std::vector<uint64_t>> encode(const std::vector<ChunkRef>& index) {
  return build_message("the index of a tape", [&](capnp::MessageBuilder& message) {
    auto chunks = message.initRoot<wire::Index>().initChunks(static_cast<unsigned>(index.size()));
    for (unsigned i = 0; i < chunks.size(); ++i) {
      chunks[i].setOffset(index[i].offset);
      chunks[i].setKind(static_cast<uint32_t>(index[i].kind));
      chunks[i].setEventCount(index[i].event_count);
      chunks[i].setFirstEvent(index[i].first_event);
    }
  });
}

base::Result<std::vector<ChunkRef>> decode_index(std::span<const uint64_t> words) {
  return guard_kj(base::ErrorCode::kDamaged, "its index is not well-formed",
                  [&]() -> base::Result<std::vector<ChunkRef>> {
                    WordsReader reader(words);
                    std::vector<ChunkRef> index;
                    for (const auto entry : reader.root<wire::Index>().getChunks()) {
                      index.push_back({entry.getOffset(), static_cast<ChunkKind>(entry.getKind()),
                                       entry.getEventCount(), entry.getFirstEvent()});
                    }
                    return index;
                  });
}

base::Result<std::vector<uint64_t>> encode(const std::vector<ThreadIdentity>& threads) {
  return build_message("the list of threads", [&](capnp::MessageBuilder& message) {
    auto list =
        message.initRoot<wire::ThreadList>().initThreads(static_cast<unsigned>(threads.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setId(threads[i].id);
      list[i].setName(as_data(threads[i].name));
    }
  });
}

base::Result<std::vector<ThreadIdentity>> decode_threads(std::span<const uint64_t> words) {
  return guard_kj(base::ErrorCode::kDamaged, "its list of threads is not well-formed",
                  [&]() -> base::Result<std::vector<ThreadIdentity>> {
                    WordsReader reader(words);
                    std::vector<ThreadIdentity> threads;
                    for (const auto thread : reader.root<wire::ThreadList>().getThreads()) {
                      if (threads.size() == kMostThreadsListed) break;
                      threads.push_back({thread.getId(), as_string(thread.getName())});
                    }
                    return threads;
                  });
}

base::Result<std::vector<uint64_t>> encode(const Inheritance& inheritance) {
  return build_message("what a tape inherits", [&](capnp::MessageBuilder& message) {
    auto out = message.initRoot<wire::Inheritance>();
    out.setTape(as_data(inheritance.tape));
    out.setStartUnixNs(inheritance.start_unix_ns);
    out.setEvents(inheritance.events);
    out.setThread(inheritance.thread);
    out.setBlocks(inheritance.blocks);
    out.setDropped(inheritance.dropped);
    out.setFirstEvent(inheritance.first_number);
  });
}

base::Result<Inheritance> decode_inheritance(std::span<const uint64_t> words) {
  return guard_kj(base::ErrorCode::kDamaged, "what it inherits is not well-formed",
                  [&]() -> base::Result<Inheritance> {
                    WordsReader reader(words);
                    const auto in = reader.root<wire::Inheritance>();
                    return Inheritance{as_string(in.getTape()), in.getStartUnixNs(),
                                       in.getEvents(),          in.getThread(),
                                       in.getBlocks(),          in.getDropped(),
                                       in.getFirstEvent()};
                  });
}

}  // namespace heaptape::schema
