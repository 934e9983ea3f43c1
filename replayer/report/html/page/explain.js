
// The page of one heap at one moment: where its memory is, the blocks beside its holes, why it
// grew. The wording is that of `heaptape explain`.
"use strict";

(function () {
  const {element, section, prose, figure, table, bars, bandText, call, grouped, share} = heaptape;

  const ACCOUNT = [
    ["liveBytes", "live, as requested"], ["slackBytes", "slack of size classes"], ["account.metadataBytes", "headers and other metadata"],
    ["account.cachedBytes", "kept in caches"], ["account.holeBytes", "free in holes"], ["account.topBytes", "free at the top of regions"],
    ["account.untouchedBytes", "less live bytes that were never touched"], ["residentBytes", "= resident"],
    ["account.returnedBytes", "free and returned to the system"], ["account.unexplainedBytes", "unexplained"], ["committedBytes", "= committed"],
  ];
  // The recorded run has a sum of what is resident, from samples.
  const SAMPLED = "resident, as sampled";
  const UNSEEN = "account.late.unseenBytes";
  const SAMPLED_ACCOUNT = [...ACCOUNT.slice(0, 6), [UNSEEN, "unseen: from before the recording"], ["committedBytes", "= committed"], ["residentBytes", SAMPLED],
                           ["account.unexplainedBytes", "unexplained"]];
  const PARTS = [...ACCOUNT.slice(0, 6).map(([metric]) => metric), UNSEEN];
  const REMEDIES = {
    trim: "malloc_trim(0)",
    purge: "a purge of all pages that hold nothing",
    meshing: "sharing pages whose live parts do not overlap (meshing)",
    foresight: "perfect foresight, without moving blocks",
    compaction: "moving all blocks together (compaction)",
  };

  function termed(text) {
    return element("span", {}, ...heaptape.terms(text));
  }

  function head(data) {
    const {moment} = data.explanation;
    const time = Number(moment.timeNs) === 0 ? "" : ", " + (Number(moment.timeNs) / 1e9).toFixed(3) + " s";
    const facts = `on ${data.label} ${data.when}: after ${call(moment.at)} of ${grouped(data.tape.events)} calls${time}`;
    return [
      element("h1", {text: data.tape.path}),
      element("div", {class: "facts"}, element("div", {text: facts}),
              heaptape.summary.commandLine(data.tape)),
      heaptape.trust.banner(data),
      element("p", {class: "verdict", id: "verdict"}, ...prose(data.verdict)),
      data.where ? element("p", {class: "where", id: "where"}, ...prose(data.where)) : null,
    ].filter(Boolean);
  }

  function account(data) {
    const {state} = data.explanation;
    const row = {label: data.label, backend: data.backend, liveBytes: state.liveBytes, slackBytes: state.slackBytes};
    for (const [name, value] of Object.entries(state.account)) row["account." + name] = value;
    if (state.account.late) row[UNSEEN] = state.account.late.unseenBytes;
    const at = {state: "state", rows: [row]};
    const value = (metric) => metric.split(".").reduce((found, name) => (found || {})[name], state) || 0;
    const isSampled = data.backend === "recorded";
    const whole = isSampled ? "committedBytes" : "residentBytes";
    const lacks = data.explanation.lacks || [];
    const isShown = ([metric, words]) => Number(value(metric)) !== 0 || metric === whole || words === SAMPLED;
    const rows = (isSampled ? SAMPLED_ACCOUNT : ACCOUNT).filter(isShown).map(([metric, words]) =>
      words === SAMPLED && lacks.includes("residentSizes") ? [termed(words), "-", ""] :
      [termed(words), figure(data.explanation, "state." + metric, "bytes"), PARTS.includes(metric) || metric === whole ? share(value(metric), value(whole)) : ""]);
    return section("account", "Where the memory is", heaptape.summary.legend([at]), heaptape.summary.bars(at),
                   table("The account", ["", "bytes", isSampled ? "of committed" : "of resident"], rows));
  }

  // The resident part of holes, where it is known which pages are resident.
  const knowsPages = (explanation) => !(explanation.lacks || []).some((what) => what.startsWith("resident"));
  const ofPages = (explanation, path) => knowsPages(explanation) ? figure(explanation, path, "bytes") : "-";

  // The first is what was asked of the allocator.
  function remedies({explanation}) {
    const tried = (explanation.actions || [])[0];
    const back = tried && Math.max(0, Number(tried.residentBytesBefore) - Number(tried.residentBytesAfter));
    const rows = (explanation.estimates || []).map((estimate, i) =>
      [termed(REMEDIES[estimate.what] || estimate.what), figure(explanation, `estimates.${i}.bytes`, "bytes"), i === 0 && tried ? heaptape.bytes(back) : ""]);
    if (rows.length === 0) return null;
    return section("remedies", "What would give resident bytes back", table("Remedies", ["", "estimate", "tried"], rows));
  }

  function holes({explanation}) {
    const sizes = explanation.holeSizes || [];
    if (sizes.length === 0) return null;
    const rows = sizes.map((hole, i) => ({
      name: bandText(hole.log2Size),
      value: hole.bytes,
      figure: figure(explanation, `holeSizes.${i}.bytes`, "bytes"),
      after: `in ${grouped(hole.count)}` + (knowsPages(explanation) ? `, ${heaptape.bytes(hole.residentBytes)} resident` : ""),
    }));
    return section("holes", "Holes by size", element("p", {class: "note", text: "Free memory between blocks: from the first size to below the second."}),
                   bars(rows, Math.max(...sizes.map((hole) => Number(hole.bytes))), "part-hole"), largest(explanation));
  }

  function block(hole, side) {
    if (hole.unseen === side || hole.unseen === "both") return "unseen memory";
    const one = hole[side];
    return one ? `${grouped(one.requestedBytes)} bytes of ${call(one.birth)}, thread ${one.thread}${one.site ? ", " + one.site : ""}` : "the beginning of the region";
  }

  function largest(explanation) {
    const rows = (explanation.largestHoles || []).map((hole, i) => {
      const path = `largestHoles.${i}.`;
      return ["0x" + BigInt(hole.address).toString(16), figure(explanation, path + "bytes", "bytes"), ofPages(explanation, path + "residentBytes"),
              block(hole, "before"), block(hole, "after"), hole.pinnedBy || "not known", hole.pinnedBy ? figure(explanation, path + "bytesWithoutPin", "bytes") : "-"];
    });
    if (rows.length === 0) return null;
    return element("div", {}, element("h3", {text: "The largest"}),
                   table("The largest holes", ["at", "bytes", "resident", "before it", "after it", "pinned by the one", "without that"], rows));
  }

  // The sites of the blocks of a group of pins; empty if the tape has no stacks.
  function callers(group) {
    const sampled = group.sampled;
    if (!sampled) return group.site ? group.site + (group.siteCount === group.count ? "" : ", " + grouped(group.siteCount) + " of them") : "";
    const own = group.site ? `${group.site}, ${grouped(group.siteCount)} of the ${heaptape.counted(sampled.stackCount, "block")} sampled` : "no stack sampled";
    const like = (sampled.callers || []).map((caller) => `${grouped(caller.count)} by ${caller.site}`).join(", ");
    const others = Number(sampled.sampledOfSize) > Number(sampled.stackCount) ?
      `; of ${heaptape.counted(sampled.sampledOfSize, "sampled block")} of ${grouped(group.requestedBytes)} bytes: ${like}` : "";
    return `${own}${others}; to know, heaptape record --stacks ${sampled.recordStacks}`;
  }

  function pins({explanation}) {
    const all = explanation.pins || [];
    if (all.length === 0) return null;
    const rows = all.map((group, i) => {
      const path = `pins.${i}.`;
      const row = [heaptape.counted(group.count, "block"), figure(explanation, path + "requestedBytes", "count"), "t" + group.thread, call(group.firstBirth), call(group.lastBirth),
                   ofPages(explanation, path + "residentHoleBytes"), figure(explanation, path + "holeBytes", "bytes")];
      const who = callers(group);
      return who ? [...row, who] : row;
    });
    const who = all.some((group) => callers(group)) ? ["requested by"] : [];
    return section("pins", "Which blocks stand beside holes", element("p", {class: "note", text: "Blocks of one size, one thread and one stretch of the run. A hole between blocks of two groups counts for both."}),
                   table("Pins", ["", "of bytes", "thread", "born from", "to", "resident in holes", "in holes", ...who], rows));
  }

  function sites(data) {
    const {explanation} = data;
    const rows = (explanation.sites || []).map((site, i) => {
      const path = `sites.${i}.`;
      const errors = site.standardErrors;
      const row = [site.site, figure(explanation, path + "blocks", "count"), ...["liveBytes", "slackBytes"].map((metric) => figure(explanation, path + metric, "bytes")),
                   ofPages(explanation, path + "residentHoleBytes"), figure(explanation, path + "holeBytes", "bytes")];
      if (!data.isEstimated) return row;
      return [...row, errors ? "\u00b1 " + heaptape.bytes(errors.liveBytes) : "", errors && knowsPages(explanation) ? "\u00b1 " + heaptape.bytes(errors.residentHoleBytes) : ""];
    });
    if (rows.length === 0) return null;
    return section("sites", "Call sites of the blocks" + (data.isEstimated ? " (estimated)" : ""), element("p", {class: "note", text: "A hole between blocks of two sites counts for both."}),
                   table("Sites", ["", "blocks", "live, as requested", "slack", "resident in holes", "in holes", ...(data.isEstimated ? ["error of live", "error of resident in holes"] : [])], rows));
  }

  function growths({explanation}) {
    const all = explanation.heapGrowths || [];
    if (all.length === 0) return null;
    return section("heap-growths", "The largest growths", heaptape.heaps.growthTable(explanation, all, "heapGrowths.", "Growths"));
  }

  function notes({explanation}) {
    const all = explanation.notes || [];
    return all.length === 0 ? null : section("lines", "Notes", element("ul", {class: "lines"}, ...all.map((text) => element("li", {text}))));
  }

  heaptape.explain = {head, parts: [account, remedies, pins, holes, sites, growths, notes]};
})();
