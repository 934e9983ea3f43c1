// One moment for the whole page: picked on a chart, shown by the account, the holes, the heap and the
// flame graph. Only moments that the report holds can be shown.
"use strict";

(function () {
  const {element, call} = heaptape;

  // Called with each moment that is picked: {at, timeNs, names}.
  const followers = [];
  function onMoment(show) {
    followers.push(show);
  }

  // Those at the same call are one; in the order of calls.
  function distinct(moments) {
    const byCall = new Map();
    for (const {name, at, timeNs} of moments) {
      if (!byCall.has(String(at))) byCall.set(String(at), {at: Number(at), timeNs: Number(timeNs), names: []});
      byCall.get(String(at)).names.push(name);
    }
    return [...byCall.values()].sort((a, b) => a.at - b.at);
  }

  class Moments {
    constructor(moments, view, flame) {
      this.all = distinct(moments);
      this.view = view;
      this.flame = flame;
      this.chosen = null;
      this.status = element("p", {class: "note", role: "status", id: "moment", text: "Click a chart, or press Enter on it, to see the nearest " +
        (this.all.length === 1 ? "moment" : "of " + this.all.length + " moments") + " of this report in all parts. Page Up and Page Down go from one to the next."});
    }
    place(moment) {
      return this.view.axis === "timeNs" ? moment.timeNs / 1e9 : moment.at;
    }
    pickNear(x) {
      const far = (moment) => Math.abs(this.place(moment) - x);
      const nearest = this.all.reduce((best, one) => far(one) < far(best) ? one : best);
      this.pick(nearest, far(nearest) === 0 ? "" : ", the nearest to " + heaptape.chartLines.xText(this.view.axis, x) + " of the moments in this report");
    }
    step(by) {
      const from = this.chosen ? this.all.indexOf(this.chosen) : by > 0 ? -1 : this.all.length;
      this.pick(this.all[Math.min(Math.max(from + by, 0), this.all.length - 1)], "");
    }
    pick(moment, why) {
      this.chosen = moment;
      for (const show of followers) show(moment);
      this.view.mark(this.place(moment));
      const words = moment.names.map(heaptape.summary.momentWords).join(", ");
      const stays = this.flame ? this.flame.goTo(moment.names) : "";
      this.status.textContent = `Shown: ${words} (${call(moment.at)})${why}. ${stays}`.trim();
    }
  }

  // `view`: the charts. `map` and `flame` may be null.
  function shareMoment(data, view, map, flame) {
    if (data.moments.length === 0) return;
    const moments = view.picks = new Moments(data.moments, view, flame);
    document.querySelector("#timeline .charts").before(moments.status);
    if (map) onMoment(({at}) => map.goTo(at));
  }

  Object.assign(heaptape, {onMoment, shareMoment});
})();
