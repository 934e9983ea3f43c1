#include "schema/json_text.h"

#include "base/display_text.h"

namespace heaptape::schema {
namespace {

// The codec's handlers have no virtual destructor: it never owns one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class IntegerHandler final : public capnp::JsonCodec::Handler<uint64_t> {
 public:
  void encode(const capnp::JsonCodec& /*codec*/, uint64_t input,
              capnp::JsonValue::Builder output) const override {
    set_integer(output, input);
  }
  // As every codec does: numbers and strings.
  uint64_t decode(const capnp::JsonCodec& /*codec*/,
                  capnp::JsonValue::Reader input) const override {
    return capnp::JsonCodec().decode<uint64_t>(input);
  }
};
#pragma GCC diagnostic pop

std::string finished(const kj::String& json) {
  return base::valid_utf8({json.begin(), json.size()}) + "\n";
}

}  // namespace

// All that follow: inside guard_kj.

void set_integer(capnp::JsonValue::Builder out, uint64_t number) {
  if (number <= kMaxJsonNumber) {
    out.setNumber(static_cast<double>(number));
  } else {
    out.setString(std::to_string(number));
  }
}

std::string json_text(capnp::DynamicStruct::Reader message) {
  IntegerHandler integers;
  capnp::JsonCodec codec;
  codec.setPrettyPrint(true);
  codec.addTypeHandler(integers);
  return finished(codec.encode(message));
}

std::string json_text(capnp::JsonValue::Reader value) {
  capnp::JsonCodec codec;
  codec.setPrettyPrint(true);
  return finished(codec.encodeRaw(value));
}

}  // namespace heaptape::schema
