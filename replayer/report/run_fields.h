// The metrics of a run as the fields of report.capnp. Includes generated code: only for .cc files
// that build reports. Call these inside guard_kj.
#pragma once

#include <vector>

#include "replayer/metrics/run_metrics.h"
#include "schema/heap_remedies.h"
#include "schema/report/report.capnp.h"
#include "schema/report/report_metrics.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// Requires an imported tape.
void set_import(schema::wire::ImportFacts::Builder out, const schema::TapeOrigin& origin);

// `Out` has the field lacks, which stays absent if all is known.
template <typename Out>
void set_lacks(Out out, KnownResident known) {
  if (known == KnownResident::kPages) return;
  const auto lack = known == KnownResident::kHoles ? schema::kLacksReturnedPages
                    : known == KnownResident::kSum ? schema::kLacksResidentPages
                                                   : schema::kLacksResidentSizes;
  out.initLacks(1).set(0, lack.data());
}

// `Out` has the field innerAllocators, which stays absent if there are no files.
template <typename Out>
void set_inner_allocators(Out out, const std::vector<schema::InnerAllocator>& files) {
  if (files.empty()) return;
  auto list = out.initInnerAllocators(static_cast<unsigned>(files.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setFile(files[i].file);
    list[i].setOwner(schema::owner_of_file(files[i].file));
    auto families = list[i].initFamilies(static_cast<unsigned>(files[i].families.size()));
    for (unsigned j = 0; j < families.size(); ++j) families.set(j, files[i].families[j]);
    const auto known = schema::heap_remedies(files[i].families, files[i].file);
    auto remedies = list[i].initRemedies(static_cast<unsigned>(known.size()));
    for (unsigned j = 0; j < remedies.size(); ++j) remedies.set(j, known[j]);
  }
}

void set_peak(schema::wire::PeakValue::Builder out, const Peak& peak);

// Sets all metrics of `run`; leaves the names of the run and its settings as they are.
void set_metrics(schema::wire::Run::Builder out, const RunMetrics& run);

// Fills `out` with the metrics that differ between `repeats`; with nothing if there are fewer than
// two. Omits metrics that are places, or the least or greatest of the repeats.
void set_spreads(schema::wire::Run::Builder out, const std::vector<RunMetrics>& repeats);

}  // namespace heaptape::replayer
