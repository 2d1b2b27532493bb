// Compares what Perfetto's trace processor says of runs with the trace files of the same runs:
// `node check.mjs ENGINE FOLDER NUMBER` reads run1.json and run1.jsonl, and so on.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { processor } from "./processor.mjs";

const [engine, folder, number] = process.argv.slice(2);
const load = await processor(engine);
const one = async (query, sql) => Object.values((await query(sql))[0])[0];
const counts = { threads: 0, tasks: 0, steps: 0, flows: 0, races: 0, failures: 0 };

for (let run = 1; run <= Number(number); run++) {
  const name = `run${run}`;
  const events = readFileSync(join(folder, `${name}.jsonl`), "utf8").trim().split("\n").slice(1).map((line) => JSON.parse(line));
  const { query, close } = await load(join(folder, `${name}.json`));
  const of = (kind) => events.filter((event) => event.kind === kind);

  // Nothing in the file is left out or wrong for Perfetto.
  const wrong = await query("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0");
  assert.deepEqual(wrong, [], `${name}: errors of the import`);

  // A track for each thread and looper that acts, and one for the environment if it fires events.
  const acting = new Set(events.map((event) => event.thread ?? (event.kind === "fire" ? "environment" : undefined)).filter(Boolean));
  const tracks = await query("SELECT DISTINCT thread.name FROM thread_track JOIN thread USING (utid) JOIN slice ON slice.track_id = thread_track.id");
  assert.ok(tracks.length >= 1 && tracks.length <= acting.size, `${name}: ${tracks.length} tracks, ${acting.size} threads`);
  for (const { name: track } of tracks) {
    assert.ok([...acting].some((thread) => thread.split("/").pop() === track || thread === track), `${name}: track ${track}`);
  }
  const lives = await one(query, "SELECT COUNT(*) FROM slice WHERE category = 'thread'");
  assert.equal(lives, tracks.length, `${name}: one life for each track`);

  // A slice for each task that begins, in the track of its looper.
  const tasks = await one(query, "SELECT COUNT(*) FROM slice WHERE category = 'task'");
  assert.equal(tasks, of("begin").length, `${name}: tasks`);

  // A slice for each step of a thread or of the environment, one after another: no two steps at one time.
  const steps = await one(query, "SELECT COUNT(*) FROM slice WHERE category = 'step'");
  const times = await one(query, "SELECT COUNT(DISTINCT ts) FROM slice WHERE category = 'step'");
  assert.equal(steps, times, `${name}: steps at one time`);
  const counted = new Set(events.filter((event) => event.step > 0).map((event) => event.step));
  const ticks = await one(query, "SELECT COUNT(*) FROM counter JOIN counter_track ON counter.track_id = counter_track.id");
  assert.ok(steps <= ticks && steps <= counted.size, `${name}: ${steps} steps, ${counted.size} in the trace, ${ticks} times`);

  // A flow from each post, fork and firing to what it starts, if that begins; and no other, but for the pair.
  const flows = await query(`
    SELECT a.category AS source, b.category AS target, a.ts <= b.ts AS later
    FROM flow JOIN slice a ON flow.slice_out = a.id JOIN slice b ON flow.slice_in = b.id`);
  const begun = new Set(of("begin").map((event) => event.made));
  const made = events.filter((event) => ["post", "fork", "fire", "launch"].includes(event.kind) && event.value !== 0 && event.made);
  const expected = made.filter((event) => event.kind === "fork" || begun.has(event.made));
  const races = await one(query, "SELECT COUNT(*) FROM slice WHERE EXTRACT_ARG(arg_set_id, 'args.races') IS NOT NULL");
  const raceFlows = races > 1 ? await raceFlowsOf(query) : 0;
  assert.ok(flows.every(({ later }) => later === 1), `${name}: a flow leads back`);
  assert.equal(flows.length, expected.length + raceFlows, `${name}: flows of ${expected.length} posts, forks and firings, ${raceFlows} of the pair`);

  // The failure is an instant.
  const failed = await one(query, "SELECT COUNT(*) FROM slice WHERE category = 'failure'");
  counts.threads += tracks.length;
  counts.tasks += tasks;
  counts.steps += steps;
  counts.flows += flows.length;
  counts.races += races;
  counts.failures += failed;
  // The first two runs are driven at a pair: both of its steps are marked, and a flow leads from one to the other.
  if (run <= 2) {
    assert.equal(races, 2, `${name}: both steps of the pair`);
    assert.equal(raceFlows, 1, `${name}: a flow between the steps of the pair`);
  }
  close();
}

// The numbers of all runs together, which a run that draws nothing could not have.
assert.ok(Object.values(counts).every((count) => count > 0), JSON.stringify(counts));
console.log(`${number} runs in Perfetto's trace processor: ${Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(", ")}`);
process.exit(0);

// The number of flows between slices of the pair.
async function raceFlowsOf(query) {
  return one(query, `
    SELECT COUNT(*) FROM flow JOIN slice a ON flow.slice_out = a.id JOIN slice b ON flow.slice_in = b.id
    WHERE EXTRACT_ARG(a.arg_set_id, 'args.races') IS NOT NULL AND EXTRACT_ARG(b.arg_set_id, 'args.races') IS NOT NULL`);
}
