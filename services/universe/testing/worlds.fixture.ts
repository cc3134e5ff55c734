/** Prints the worlds that every node has to derive alike, each many times over, as one line; fails where two are not one. */
import { encoderFingerprint } from '../src/worlds/domain/encoder.ts';
import { deriveWorld, manifestOf, manifestText } from '../src/worlds/domain/manifest.ts';
import { forkOf, plainWorld } from '../src/worlds/domain/names.ts';
import { numberOf, universeOf } from '../src/worlds/domain/seed-chain.ts';

const TIMES = 10_000;
const WORLDS = [
  { named: plainWorld('demo') },
  { named: forkOf('demo', 'kid') },
  { named: forkOf('demo.kid', 'jr') },
  { named: plainWorld('demo.kid') },
  { named: plainWorld('default') },
  { named: plainWorld('demo'), universe: 'acme' },
];

function derived({ named, universe }: (typeof WORLDS)[number]): string {
  const of = universeOf(universe === undefined ? {} : { named: universe });
  if (!named.ok || !of.ok) throw new Error('a world has no name');
  const world = deriveWorld(of.value, named.value);
  const { id, payload } = manifestOf(world, world.stateRoot);
  const numbers = [1, 2, 3].map((task) => numberOf(world.seed, 3, `task:${task}`));
  return JSON.stringify({ id, encoder: encoderFingerprint(), numbers, text: manifestText({ payload }) });
}

const [first = '', ...others] = [...new Set(Array.from({ length: TIMES }, () => JSON.stringify(WORLDS.map(derived))))];
if (others.length > 0) throw new Error('one world was derived in two ways');
process.stdout.write(`${first}\n`);
