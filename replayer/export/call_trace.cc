#include "replayer/export/call_trace.h"

#include "base/address/pages.h"
#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using base::format_text;
using schema::Event;
using schema::Op;
using schema::OpKind;

// For printf.
unsigned long long wide(uint64_t number) {
  return number;
}

OpKind kind_of(const Event& event) {
  return schema::op_info(event.op).kind;
}

}  // namespace

void CallTrace::append(std::string& text, const schema::EventBatch& batch) {
  auto end = batch.thread_ends.begin();
  const auto append_ends = [&](uint64_t event) {
    for (; end != batch.thread_ends.end() && end->event <= event; ++end) {
      if (kind_ != TraceKind::kAndroid) continue;
      text += format_text("%u: thread_done 0x0\n", end->thread + 1);
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    append_ends(batch.first_event + i);
    const Event& event = batch.events[i];
    if (kind_ == TraceKind::kAndroid) append_android(text, event);
    if (kind_ == TraceKind::kMtrace) append_mtrace(text, event);
    if (kind_ == TraceKind::kMalloclab) append_malloclab(text, event);
  }
  append_ends(UINT64_MAX);
}

// Thread ids start at 1: Linux has no thread 0.
void CallTrace::append_android(std::string& text, const Event& event) {
  const unsigned thread = event.thread + 1;
  const bool is_page_aligned = event.op == Op::kValloc || event.op == Op::kPvalloc;
  if (kind_of(event) == OpKind::kRelease) {
    text += format_text("%u: free 0x%llx\n", thread, wide(event.freed_address));
  } else if (kind_of(event) == OpKind::kResize) {
    text += format_text("%u: realloc 0x%llx 0x%llx %llu\n", thread, wide(event.address),
                        wide(event.freed_address), wide(event.size));
  } else if (event.op == Op::kCalloc) {
    text +=
        format_text("%u: calloc 0x%llx 1 %llu\n", thread, wide(event.address), wide(event.size));
  } else if (is_page_aligned || schema::op_info(event.op).aligned) {
    text +=
        format_text("%u: memalign 0x%llx %llu %llu\n", thread, wide(event.address),
                    wide(is_page_aligned ? base::kPageBytes : event.alignment), wide(event.size));
  } else {
    text += format_text("%u: malloc 0x%llx %llu\n", thread, wide(event.address), wide(event.size));
  }
}

void CallTrace::append_mtrace(std::string& text, const Event& event) {
  const bool gives_up = kind_of(event) == OpKind::kRelease || schema::frees_by_resize(event);
  if (gives_up) {
    text += format_text("@ [0x0] - 0x%llx\n", wide(event.freed_address));
  } else if (event.freed_address == 0) {
    text += format_text("@ [0x0] + 0x%llx 0x%llx\n", wide(event.address), wide(event.size));
  } else if (event.address == 0) {
    text += format_text("@ [0x0] ! 0x%llx 0x%llx\n", wide(event.freed_address), wide(event.size));
  } else {
    text += format_text("@ [0x0] < 0x%llx\n@ [0x0] > 0x%llx 0x%llx\n", wide(event.freed_address),
                        wide(event.address), wide(event.size));
  }
}

uint64_t CallTrace::take_number(uint64_t address) {
  uint64_t number = numbers_;
  if (free_numbers_.empty()) {
    ++numbers_;
  } else {
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  by_address_[address] = number;
  return number;
}

void CallTrace::append_malloclab(std::string& text, const Event& event) {
  const auto old = by_address_.find(event.freed_address);
  const bool has_old = event.freed_address != 0 && old != by_address_.end();
  const bool gives_up = kind_of(event) == OpKind::kRelease || schema::frees_by_resize(event);
  if (schema::is_failed(event) || (gives_up && !has_old)) {
    ++left_out_;
    return;
  }
  ++lines_;
  uint64_t number = has_old ? old->second : 0;
  if (has_old) by_address_.erase(old);
  if (gives_up) {
    free_numbers_.push_back(number);
    text += format_text("f %llu\n", wide(number));
    return;
  }
  if (has_old) {
    by_address_[event.address] = number;
  } else {
    number = take_number(event.address);
  }
  text += format_text("%c %llu %llu\n", has_old ? 'r' : 'a', wide(number), wide(event.size));
}

std::string call_trace_head(TraceKind kind, const CallTrace& whole) {
  if (kind == TraceKind::kMtrace) return "= Start\n";
  if (kind == TraceKind::kAndroid) return "";
  // The suggested heap, which drivers ignore; blocks; lines; the weight in a score.
  return format_text("0\n%llu\n%llu\n1\n", wide(whole.numbers()), wide(whole.lines()));
}

std::string call_trace_end(TraceKind kind) {
  return kind == TraceKind::kMtrace ? "= End\n" : "";
}

}  // namespace heaptape::replayer
