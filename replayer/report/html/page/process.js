// The recorded process: who had its anonymous memory, at each moment. docs/metrics.md, "The process".
"use strict";

(function () {
  const {element, part, figure, table, bytes, share} = heaptape;

  const MOST_OWNERS = 12;

  // [{words, path, sample}]: of the samples whose parts are known, each once.
  function samplesOf(report) {
    const found = [];
    const add = (words, path, sample) => {
      if (!sample || !sample.anonymous) return;
      const same = found.find((one) => one.sample.at === sample.at && one.sample.timeNs === sample.timeNs);
      if (same) {
        same.words.push(words);
      } else {
        found.push({words: [words], path, sample});
      }
    };
    (report.moments || []).forEach(({name, process}, i) => add(heaptape.summary.momentWords(name), `moments.${i}.process`, process));
    add("at its own peak", "tape.largestSample", report.tape.largestSample);
    return found;
  }

  const ownersOf = ({anonymous}) => anonymous.owners || [];

  // Names, those first that have most in any sample.
  function mainOwners(samples) {
    const most = new Map();
    for (const {owner, bytes: size} of samples.flatMap(({sample}) => ownersOf(sample))) {
      most.set(owner, Math.max(most.get(owner) || 0, Number(size)));
    }
    return [...most.keys()].sort((a, b) => most.get(b) - most.get(a)).slice(0, MOST_OWNERS);
  }

  // Memory that no other row has.
  function rest({anonymousBytes, anonymous}, names) {
    const named = ownersOf({anonymous}).filter(({owner}) => names.includes(owner));
    const known = named.reduce((sum, {bytes: size}) => sum + Number(size), Number(anonymous.mallocBytes) + Number(anonymous.stackBytes));
    return bytes(Number(anonymousBytes) - known);
  }

  function process({report}) {
    const samples = samplesOf(report);
    if (samples.length === 0) return null;
    const names = mainOwners(samples);
    const row = (heading, cellOf) => [heading, ...samples.map(cellOf)];
    const ofOwner = (name) => ({path, sample}) => {
      const at = ownersOf(sample).findIndex(({owner}) => owner === name);
      return at < 0 ? "" : figure(report, `${path}.anonymous.owners.${at}.bytes`, "bytes");
    };
    const rows = [
      row("malloc", ({path}) => figure(report, path + ".anonymous.mallocBytes", "bytes")),
      ...names.map((name) => row(name, ofOwner(name))),
      row("stacks of threads", ({path}) => figure(report, path + ".anonymous.stackBytes", "bytes")),
      row(names.length === 0 ? "beside malloc" : "other", ({sample}) => rest(sample, names)),
      row("= anonymous", ({path}) => figure(report, path + ".anonymousBytes", "bytes")),
    ];
    const {words, sample} = [...samples].sort((a, b) => Number(b.sample.anonymousBytes) - Number(a.sample.anonymousBytes))[0];
    const fact = `${words[words.length - 1]}, ${share(sample.anonymous.mallocBytes, sample.anonymousBytes)} of ${bytes(sample.anonymousBytes)} anonymous memory is malloc's`;
    return part("process", "The process", fact,
                element("p", {class: "note", text: "Who had the anonymous memory of the recorded process when it was sampled nearest to each moment. No allocator changes what is not malloc's."}),
                table("The process", ["", ...samples.map((one) => one.words.join(", "))], rows));
  }

  heaptape.process = process;
})();
