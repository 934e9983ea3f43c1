#include "schema/json_text.h"

#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::schema {
namespace {

// The codec's handlers have no virtual destructor: it never owns one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
template <typename Integer>
class IntegerHandler final : public capnp::JsonCodec::Handler<Integer> {
 public:
  void encode(const capnp::JsonCodec& /*codec*/, Integer input,
              capnp::JsonValue::Builder output) const override {
    set_integer(output, input);
  }
  // As every codec does: numbers and strings.
  Integer decode(const capnp::JsonCodec& /*codec*/, capnp::JsonValue::Reader input) const override {
    return capnp::JsonCodec().decode<Integer>(input);
  }
};
#pragma GCC diagnostic pop

// C1 controls, U+0080 to U+009F, which some terminals heed.
std::string without_controls(const std::string& json) {
  std::string text;
  size_t from = 0;
  for (size_t at = json.find('\xc2'); at != json.npos; at = json.find('\xc2', at + 1)) {
    const auto low = static_cast<unsigned char>(json[at + 1]);  // valid UTF-8: there is one
    if (low > 0x9f) continue;
    text.append(json, from, at - from);
    text += base::format_text("\\u%04x", low);
    from = at + 2;
  }
  return text.append(json, from);
}

std::string finished(const kj::String& json) {
  return without_controls(base::valid_utf8({json.begin(), json.size()})) + "\n";
}

}  // namespace

// All functions below must be called inside guard_kj.

void set_integer(capnp::JsonValue::Builder out, uint64_t number) {
  if (number <= kMaxJsonNumber) {
    out.setNumber(static_cast<double>(number));
  } else {
    out.setString(std::to_string(number));
  }
}

void set_integer(capnp::JsonValue::Builder out, int64_t number) {
  if (number < 0 && number >= -static_cast<int64_t>(kMaxJsonNumber)) {
    out.setNumber(static_cast<double>(number));
  } else if (number < 0) {
    out.setString(std::to_string(number));
  } else {
    set_integer(out, static_cast<uint64_t>(number));
  }
}

namespace {

std::string encoded(capnp::DynamicStruct::Reader message, bool is_pretty) {
  IntegerHandler<uint64_t> integers;
  IntegerHandler<int64_t> signed_integers;
  capnp::JsonCodec codec;
  codec.setPrettyPrint(is_pretty);
  codec.addTypeHandler(integers);
  codec.addTypeHandler(signed_integers);
  return finished(codec.encode(message));
}

}  // namespace

std::string json_text(capnp::DynamicStruct::Reader message) {
  return encoded(message, true);
}

std::string compact_json_text(capnp::DynamicStruct::Reader message) {
  return encoded(message, false);
}

std::string json_text(capnp::JsonValue::Reader value) {
  capnp::JsonCodec codec;
  codec.setPrettyPrint(true);
  return finished(codec.encodeRaw(value));
}

}  // namespace heaptape::schema
