/** Seeded sequences of people and agents in one brain, at once; after each, everything is judged. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { planFrom, type Plan } from '../instruments/people/plan.ts';
import { initRemote, play, type Place, type Played, shortened } from '../instruments/people/sequence.ts';
import { PEOPLE_SEED, PEOPLE_SEEDS, PEOPLE_SHORTENINGS, PEOPLE_STEPS, SEED } from '../settings.ts';
import { startEmbedded } from '../targets/embedded.ts';
import { newName, verifies } from '../verifies.ts';

/** A node serves so many brains at most with ease; then a new one is started. */
const SEEDS_PER_NODE = 50;
const SEQUENCE_WITHIN_MS = 30_000;
const LOGS_SHOWN = 3;
const LINES_SHOWN = 250;

/** The short run plays known sequences, so that it says something of a change; the soak looks for unknown ones. */
const FIRST_KNOWN_SEED = 20_000;
const first = PEOPLE_SEEDS <= SEEDS_PER_NODE ? FIRST_KNOWN_SEED : SEED;
const seeds = PEOPLE_SEED === 0 ? Array.from({ length: PEOPLE_SEEDS }, (_, index) => first + index) : [PEOPLE_SEED];

for (let from = 0; from < seeds.length; from += SEEDS_PER_NODE) {
  const ofThisNode = seeds.slice(from, from + SEEDS_PER_NODE);
  verifies('people:model', ({ report }) => playAll(ofThisNode, report), {
    only: 'embedded',
    timeoutMs: 300_000 + SEQUENCE_WITHIN_MS * ofThisNode.length * (1 + PEOPLE_SHORTENINGS),
    ...(seeds.length > SEEDS_PER_NODE ? { title: `sequences ${from + 1} to ${from + ofThisNode.length}` } : {}),
  });
}

async function playAll(ofThisNode: readonly number[], report: (line: string) => void): Promise<void> {
  const remotesFolder = mkdtempSync(join(tmpdir(), 'svc-e2e-people-'));
  const remotes = Array.from({ length: ofThisNode.length * (1 + PEOPLE_SHORTENINGS) }, (_, index) => `r${index}`);
  const urls = remotes.map((name) => initRemote(remotesFolder, name));
  const node = await startEmbedded({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: urls.join(',') });
  const place: Place = { node, remotes, remotesFolder };
  try {
    const from = performance.now();
    const failed: Played[] = [];
    for (const seed of ofThisNode) {
      const played = await play(planFrom(seed, PEOPLE_STEPS), place, newName('p'));
      if (played.problems.length === 0) continue;
      const worst = await shortest(played, place);
      failed.push(worst);
      report(shown(worst, failed.length - 1));
    }
    const seconds = Math.round((performance.now() - from) / 1000);
    report(`${ofThisNode.length} sequences of ${PEOPLE_STEPS} acts in ${seconds} s, ${failed.length} with problems`);
    expect(failed.map(({ plan, problems }) => ({ seed: plan.seed, problems }))).toEqual([]);
  } finally {
    await node.stop();
    rmSync(remotesFolder, { recursive: true, force: true });
  }
}

async function shortest(played: Played, place: Place): Promise<Played> {
  let best = played;
  await shortened(played.plan, PEOPLE_SHORTENINGS, async (plan: Plan) => {
    const again = await play(plan, place, newName('p'));
    if (again.problems.length > 0) best = again;
    return again.problems.length > 0;
  });
  return best;
}

function shown({ plan, problems, log }: Played, index: number): string {
  const { seed, isGentle, syncs, groups } = plan;
  const traits = `${isGentle ? 'gentle' : 'rough'}${syncs ? ', syncing' : ''}, ${groups.length} groups`;
  const head = `sequence ${seed} (${traits}; again: E2E_PEOPLE_SEED=${seed} E2E_PEOPLE_STEPS=${PEOPLE_STEPS}):`;
  const lines = index < LOGS_SHOWN ? log.slice(-LINES_SHOWN) : [];
  return [head, ...problems.map((problem) => `  ! ${problem}`), ...lines.map((line) => `    ${line}`)].join('\n');
}
