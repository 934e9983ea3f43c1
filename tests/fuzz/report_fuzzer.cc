// Any text as a report: it is refused, or what it says survives being written and read again.
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::fuzz {
namespace {

std::string written_again(const std::string& text, size_t runs) {
  const auto report = schema::parse_report("again", text);
  HEAPTAPE_CHECK(report.ok());
  HEAPTAPE_CHECK(schema::figures_of(*report).runs.size() == runs);
  const auto json = schema::to_json(report->root());
  HEAPTAPE_CHECK(json.ok());
  return *json;
}

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptape::schema;
  using heaptape::fuzz::written_again;
  const auto report = parse_report("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!report.ok()) {
    HEAPTAPE_CHECK(!report.error().message.empty());
    return 0;
  }
  const ReportFigures figures = figures_of(*report);
  for (const auto run : report->root().getRuns()) timeline_of(run);
  const auto stacks = stack_tree_of(report->root().getTape().getStacks());
  if (stacks) HEAPTAPE_CHECK(StackColumns(*stacks).frames.size() == stacks->nodes.size());
  // Cap'n Proto 0.9 misreads the letters in an escape such as \u001b, so that the first text may
  // change where the second does not.
  const auto first = to_json(report->root());
  HEAPTAPE_CHECK(first.ok());
  const auto second = written_again(*first, figures.runs.size());
  HEAPTAPE_CHECK(written_again(second, figures.runs.size()) == second);
  return 0;
}
