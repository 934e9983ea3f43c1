// Replays in the process of the test.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/tape/event.h"

namespace heaptape::tests {

// The specs of a replay; ends the test with a failure if one does not parse.
replayer::ReplayOptions replay_options(const std::vector<std::string>& specs);

// The metrics of each run over a tape of these events; empty, with a failure noted, on an error.
std::vector<replayer::RunMetrics> replay_events(const std::vector<schema::Event>& events,
                                                const replayer::ReplayOptions& options,
                                                const schema::TapeHeader& header = {});
std::vector<replayer::RunMetrics> replay_tape(const std::string& path,
                                              const replayer::ReplayOptions& options);

// Everything in a run's metrics that must not change from one replay to the next, as text: all but
// times. Lines that begin with "at " are the timeline.
std::string lasting_text(const replayer::RunMetrics& metrics);

// The same without what depends on where samples are taken.
std::string lasting_text_without_samples(const replayer::RunMetrics& metrics);

}  // namespace heaptape::tests
