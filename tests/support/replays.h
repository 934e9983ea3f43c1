// Replays in the test's process.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/tape/event.h"

namespace heaptape::tests {

// The specs of a replay; fails the test if one does not parse.
replayer::ReplayOptions replay_options(const std::vector<std::string>& specs);

// The metrics of each run over a tape of these events; on an error, empty, with a failure noted.
std::vector<replayer::RunMetrics> replay_events(const std::vector<schema::Event>& events,
                                                const replayer::ReplayOptions& options,
                                                const schema::TapeHeader& header = {});
std::vector<replayer::RunMetrics> replay_tape(const std::string& path,
                                              const replayer::ReplayOptions& options);

// Everything in a run's metrics that must not change between replays, as text: all but times and
// page faults. Lines that begin with "at " are the timeline.
std::string lasting_text(const replayer::RunMetrics& metrics);

// The same without figures that depend on where samples are taken.
std::string lasting_text_without_samples(const replayer::RunMetrics& metrics);

}  // namespace heaptape::tests
