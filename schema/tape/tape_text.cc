#include "schema/tape/tape_text.h"

#include <malloc.h>

#include <charconv>
#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::schema {
namespace {

void append_number(std::string& out, uint64_t value, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
  out.append(digits, end);
}

double seconds(uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

void append_address(std::string& out, uint64_t address) {
  if (address == 0) {
    out += "NULL";
    return;
  }
  out += "0x";
  append_number(out, address, 16);
}

void append_text(std::string& out, uint64_t number, const Event& event) {
  const OpInfo& info = op_info(event.op);
  append_number(out, number);
  out += " t";
  append_number(out, event.thread);
  out += ' ';
  out += info.name;
  out += '(';
  if (info.kind != OpKind::kAllocate) append_address(out, event.freed_address);
  if (info.kind == OpKind::kResize) out += ", ";
  if (info.aligned) {
    append_number(out, event.alignment);
    out += ", ";
  }
  if (info.kind != OpKind::kRelease) append_number(out, event.size);
  out += ')';
  if (info.kind != OpKind::kRelease) {
    out += " = ";
    append_address(out, event.address);
  }
}

void append_field(std::string& out, const char* name) {
  out += ",\"";
  out += name;
  out += "\":";
}

void append_ndjson(std::string& out, uint64_t number, const Event& event) {
  const OpInfo& info = op_info(event.op);
  const auto address_field = [&out](const char* name, uint64_t address) {
    append_field(out, name);
    if (address == 0) {
      out += "null";
      return;
    }
    out += '"';
    append_address(out, address);
    out += '"';
  };
  out += "{\"n\":";
  append_number(out, number);
  append_field(out, "thread");
  append_number(out, event.thread);
  append_field(out, "op");
  out += '"';
  out += info.name;
  out += '"';
  if (info.kind != OpKind::kAllocate) address_field("freed", event.freed_address);
  if (info.aligned) {
    append_field(out, "alignment");
    append_number(out, event.alignment);
  }
  if (info.kind != OpKind::kRelease) {
    append_field(out, "size");
    append_number(out, event.size);
    address_field("address", event.address);
  }
}

// mallopt(3).
std::string mallopt_name(int64_t parameter) {
  switch (parameter) {
    case M_MXFAST:
      return "M_MXFAST";
    case M_TRIM_THRESHOLD:
      return "M_TRIM_THRESHOLD";
    case M_TOP_PAD:
      return "M_TOP_PAD";
    case M_MMAP_THRESHOLD:
      return "M_MMAP_THRESHOLD";
    case M_MMAP_MAX:
      return "M_MMAP_MAX";
    case M_CHECK_ACTION:
      return "M_CHECK_ACTION";
    case M_PERTURB:
      return "M_PERTURB";
    case M_ARENA_TEST:
      return "M_ARENA_TEST";
    case M_ARENA_MAX:
      return "M_ARENA_MAX";
    default:
      return std::to_string(parameter);
  }
}

struct NamedNumber {
  const char* name;
  uint64_t value;
};

// The arguments behind the range.
std::vector<NamedNumber> details_of(const MappingCall& call) {
  switch (call.op) {
    case MappingOp::kMap:
      return {{"protection", call.detail & UINT32_MAX}, {"flags", call.detail >> 32}};
    case MappingOp::kProtect:
      return {{"protection", call.detail}};
    case MappingOp::kAdvise:
      return {{"advice", call.detail}};
    default:
      return {};
  }
}

}  // namespace

void append_event(std::string& out, TextFormat format, uint64_t number, const Event& event,
                  std::optional<uint64_t> time_ns, FrameNumber stack) {
  if (format == TextFormat::kText) {
    append_text(out, number, event);
    if (stack != 0) out += " stack " + std::to_string(stack);
    if (time_ns) out += " at " + base::format_text("%.9f", seconds(*time_ns));
    out += '\n';
    return;
  }
  append_ndjson(out, number, event);
  if (stack != 0) {
    append_field(out, "stack");
    append_number(out, stack);
  }
  if (time_ns) {
    append_field(out, "timeNs");
    append_number(out, *time_ns);
  }
  out += "}\n";
}

void append_stack(std::string& out, TextFormat format, FrameNumber stack,
                  const std::vector<std::string>& frames) {
  if (format == TextFormat::kText) {
    for (const std::string& frame : frames) out += "    " + frame + "\n";
    return;
  }
  out += "{\"stack\":";
  append_number(out, stack);
  append_field(out, "frames");
  const char* separator = "[";
  for (const std::string& frame : frames) {
    out += separator + base::json_string(frame);
    separator = ",";
  }
  out += frames.empty() ? "[]}\n" : "]}\n";
}

std::string steering_text(const SteeringCall& call) {
  const SteeringInfo info = steering_info(call.op);
  std::string text = std::string(info.name) + "(";
  if (info.arguments > 0) {
    text += call.op == SteeringOp::kMallopt ? mallopt_name(call.first) : std::to_string(call.first);
  }
  if (info.arguments > 1) text += ", " + std::to_string(call.second);
  return text + ")";
}

void append_steering(std::string& out, TextFormat format, const SteeringCall& call) {
  if (format == TextFormat::kText) {
    append_number(out, call.event);
    out += " t";
    append_number(out, call.thread);
    out += " " + steering_text(call) + "\n";
    return;
  }
  const SteeringInfo info = steering_info(call.op);
  out += "{\"n\":";
  append_number(out, call.event);
  append_field(out, "thread");
  append_number(out, call.thread);
  append_field(out, "steering");
  out += base::json_string(info.name);
  if (info.arguments > 0) out += ",\"first\":" + std::to_string(call.first);
  if (info.arguments > 1) out += ",\"second\":" + std::to_string(call.second);
  out += "}\n";
}

void append_mapping_call(std::string& out, TextFormat format, const MappingCall& call) {
  const std::string name = mapping_op_name(static_cast<uint64_t>(call.op));
  const std::vector<NamedNumber> details = details_of(call);
  if (format == TextFormat::kText) {
    append_number(out, call.event);
    out += " t";
    append_number(out, call.thread);
    out += " " + name + "(";
    append_address(out, call.range.begin);
    out += ", ";
    append_number(out, call.range.bytes());
    for (const NamedNumber& one : details) {
      out += ", 0x";
      append_number(out, one.value, 16);
    }
    out += ')';
    if (call.stack != 0) out += " stack " + std::to_string(call.stack);
    out += '\n';
    return;
  }
  const auto append = [&out](const char* field, uint64_t value) {
    append_field(out, field);
    append_number(out, value);
  };
  out += "{\"n\":";
  append_number(out, call.event);
  append("thread", call.thread);
  append_field(out, "mapping");
  out += base::json_string(name);
  append("begin", call.range.begin);
  append("bytes", call.range.bytes());
  for (const NamedNumber& one : details) append(one.name, one.value);
  if (call.stack != 0) append("stack", call.stack);
  out += "}\n";
}

void append_mark(std::string& out, TextFormat format, const Mark& mark) {
  if (format == TextFormat::kText) {
    append_number(out, mark.event);
    out += " mark " + mark.name + base::format_text(" at %.9f\n", seconds(mark.time_ns));
    return;
  }
  out += "{\"n\":";
  append_number(out, mark.event);
  append_field(out, "mark");
  out += '"' + mark.name + '"';
  append_field(out, "timeNs");
  append_number(out, mark.time_ns);
  out += "}\n";
}

void append_end(std::string& out, TextFormat format, const ThreadEnd& end) {
  const bool is_text = format == TextFormat::kText;
  out += is_text ? "" : "{\"n\":";
  append_number(out, end.event);
  out += is_text ? " t" : ",\"thread\":";
  append_number(out, end.thread);
  out += is_text ? " ends\n" : ",\"end\":true}\n";
}

}  // namespace heaptape::schema
