#include "tests/support/report_schema.h"

#include <capnp/schema.h>

#include <map>

#include "schema/report/report.capnp.h"
#include "schema/report/report_metrics.h"

namespace heaptape::tests {
namespace {

namespace wire = schema::wire;
using capnp::schema::Type;

// "report.capnp:TapeStats.Thread" gives "TapeStats.Thread".
std::string name_of(capnp::StructSchema part) {
  const std::string name = part.getProto().getDisplayName().cStr();
  return name.substr(name.find(':') + 1);
}

std::string unit_of(capnp::StructSchema::Field field) {
  constexpr const char* kUnits[] = {"count", "bytes", "ns", "ratio"};  // by value of wire::Unit
  for (const auto annotation : field.getProto().getAnnotations()) {
    if (annotation.getId() != wire::UNIT_ANNOTATION) continue;
    return std::string(", \"unit\": \"") + kUnits[annotation.getValue().getEnum()] + "\"";
  }
  return "";
}

// Writes the definitions of all structs reachable from a root.
class Definitions {
 public:
  void add(capnp::StructSchema part) {
    const std::string name = name_of(part);
    if (!by_name_.emplace(name, "").second) return;
    std::string fields;
    for (const auto field : part.getFields()) {
      fields += std::string(fields.empty() ? "" : ",") + "\n        \"" +
                field.getProto().getName().cStr() + "\": {" + type_of(field.getType()) +
                unit_of(field) + "}";
    }
    by_name_[name] =
        "{\n      \"type\": \"object\",\n      \"properties\": {" + fields + "\n      }\n    }";
  }
  std::string text() const {
    std::string all;
    for (const auto& [name, definition] : by_name_) {
      all += (all.empty() ? "" : ",\n") + ("    \"" + name) + "\": " + definition;
    }
    return all;
  }

 private:
  std::string type_of(capnp::Type type) {
    switch (type.which()) {
      case Type::TEXT:
        return R"("type": "string")";
      case Type::BOOL:
        return R"("type": "boolean")";
      case Type::UINT32:
        return R"("type": "integer")";
      case Type::UINT64:
        return R"("$ref": "#/$defs/Integer")";
      case Type::INT64:
        return R"("$ref": "#/$defs/SignedInteger")";
      case Type::FLOAT64:
        return R"("$ref": "#/$defs/Float")";
      case Type::LIST:
        return R"("type": "array", "items": {)" + type_of(type.asList().getElementType()) + "}";
      case Type::STRUCT:
        add(type.asStruct());
        return R"("$ref": "#/$defs/)" + name_of(type.asStruct()) + "\"";
      default:
        return "a type that this generator does not know";
    }
  }

  std::map<std::string, std::string> by_name_;
};

// Types that are not structs. The codec writes numbers that JSON lacks as strings.
constexpr char kNumbers[] = R"(    "Integer": {
      "description": "below 2^64; a string beyond 2^53",
      "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}]
    },
    "SignedInteger": {
      "description": "of 64 bits; a string beyond 2^53",
      "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]
    },
    "Float": {
      "anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]
    },
)";

}  // namespace

std::string report_schema() {
  Definitions definitions;
  std::string roots;
  for (const capnp::StructSchema root :
       {capnp::StructSchema(capnp::Schema::from<wire::Report>()),
        capnp::StructSchema(capnp::Schema::from<wire::TapeStats>()),
        capnp::StructSchema(capnp::Schema::from<wire::SiteStats>()),
        capnp::StructSchema(capnp::Schema::from<wire::Explanation>()),
        capnp::StructSchema(capnp::Schema::from<wire::TapeFacts>()),
        capnp::StructSchema(capnp::Schema::from<wire::AllocatorList>())}) {
    definitions.add(root);
    roots += (roots.empty() ? "" : ", ") + (R"({"$ref": "#/$defs/)" + name_of(root)) + "\"}";
  }
  return "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
         "  \"title\": \"What heaptape writes as JSON\",\n  \"anyOf\": [" +
         roots + "],\n  \"$defs\": {\n" + kNumbers + definitions.text() + "\n  }\n}\n";
}

}  // namespace heaptape::tests
