import { expect, it } from 'vitest';
import { freshPointer, pushBrain } from '../../domain/stack.ts';
import { ATTENTION, type AttendedHere, attentionNow, decideAttend } from './attention.ts';
import { connectionsFrom, filesOfName, type Link, LINK_LIMITS } from './link.ts';
import { decideMove, moveOf, SYNAPSES } from './synapse.ts';

const DAY = 86_400_000;
const workspace = 'acme';
const link = (from: string, to: string): Link => ({ from, to, type: 'relates' });

it('walks links in both directions, so far and no farther', () => {
  const links = [link('a', 'b'), link('b', 'c'), link('b', 'd'), link('d', 'e')];
  const { connections, nodes, truncated } = connectionsFrom('a', 2, links);
  expect(connections.map(({ from, to, depth }) => `${depth} ${from}-${to}`)).toEqual(['1 a-b', '2 b-c', '2 b-d']);
  expect({ nodes, truncated }).toEqual({ nodes: 4, truncated: false });
  expect(connectionsFrom('e', 1, links).connections).toEqual([{ ...link('d', 'e'), depth: 1 }]);
  expect(connectionsFrom('x', 6, links)).toEqual({ connections: [], nodes: 1, truncated: false });
});

it('ends in a ring, and tells each link once', () => {
  const ring = Array.from({ length: 10 }, (_, n) => link(`n${n}`, `n${(n + 1) % 10}`));
  expect(connectionsFrom('n0', 6, ring)).toMatchObject({ nodes: 10, truncated: false });
  expect(connectionsFrom('n0', 6, ring).connections).toHaveLength(10);
  expect(connectionsFrom('a', 6, [link('a', 'b'), link('b', 'a')]).connections).toHaveLength(2);
});

it('says that there is more than it tells', () => {
  const star = Array.from({ length: 600 }, (_, n) => link('hub', `leaf-${n}`));
  const found = connectionsFrom('hub', 2, star);
  expect(found).toMatchObject({ nodes: LINK_LIMITS.nodes, truncated: true });
  expect(found.connections).toHaveLength(LINK_LIMITS.nodes - 1);
  const dense = Array.from({ length: 50 }, (_, n) => Array.from({ length: 50 }, (_, m) => link(`n${n}`, `m${m}`)));
  const told = connectionsFrom('n0', 6, dense.flat());
  expect(told).toMatchObject({ nodes: 100, truncated: true });
  expect(told.connections).toHaveLength(LINK_LIMITS.connections);
});

it('knows which files a name may mean', () => {
  expect(filesOfName('deploy')).toEqual(['deploy', 'deploy.md', 'islands/deploy.md', 'islands/deploy.json']);
  expect(filesOfName('a/b.md')).toEqual(['a/b.md']);
  expect(filesOfName('what: this')).toEqual([]);
});

it('halves attention each day, adds to what is left, and forgets what has almost none', () => {
  const kept: AttendedHere[] = [{ workspace, name: 'x', score: 1, at: 0 }];
  expect(attentionNow({ name: 'x', score: 1, at: 0 }, DAY)).toBe(0.5);
  expect(attentionNow({ name: 'x', score: 1, at: DAY }, 0)).toBe(1);
  expect(decideAttend(kept, { workspace, name: 'x', score: null }, DAY)).toEqual({ score: 0.7, gone: [] });
  expect(decideAttend(kept, { workspace, name: 'x', score: null }, 0)).toEqual({ score: 1, gone: [] });
  const x = { workspace, name: 'x' };
  expect(decideAttend(kept, { workspace, name: 'y', score: null }, 7 * DAY)).toEqual({ score: 0.2, gone: [x] });
  expect(decideAttend(kept, { ...x, score: 0 }, 0)).toEqual({ score: 0, gone: [x] });
  const other = { workspace: 'other', name: 'x' };
  expect(decideAttend(kept, { ...other, score: null }, 0)).toEqual({ score: 0.2, gone: [] });
});

const attended = (of: string, name: string, score: number): AttendedHere => ({ workspace: of, name, score, at: 0 });

it('keeps a thousand names: the one attended to last, and those that got most', () => {
  const kept = Array.from({ length: ATTENTION.names }, (_, n) => attended(workspace, `n${n}`, (n + 500) / 2000));
  const first = { workspace, name: 'n0' };
  expect(decideAttend(kept, { workspace, name: 'new', score: 0.02 }, 0)).toEqual({ score: 0.02, gone: [first] });
  expect(decideAttend(kept, { workspace, name: 'n7', score: 0.02 }, 0)).toEqual({ score: 0.02, gone: [] });
});

it('takes room from the workspace that has most of it', () => {
  const crowd = Array.from({ length: ATTENTION.names - 1 }, (_, n) => attended('crowd', `n${n}`, 1));
  const kept = [attended('few', 'a', 0.02), ...crowd];
  const { gone } = decideAttend(kept, { workspace: 'crowd', name: 'one more', score: 1 }, 0);
  expect(gone.map((one) => one.workspace)).toEqual(['crowd']);
  const few = decideAttend(kept, { workspace: 'few', name: 'b', score: 0.02 }, 0);
  expect(few.gone.map((one) => one.workspace)).toEqual(['crowd']);
});

it('learns a path when a session goes on to another brain soon enough', () => {
  const at = freshPointer('a');
  const pushed = pushBrain(at, { brain: 'b' });
  const moved = pushed.ok ? pushed.value : at;
  expect(moveOf(at, moved, SYNAPSES.moveWithinMs)).toEqual({ from: 'a', to: 'b' });
  expect(moveOf(at, moved, SYNAPSES.moveWithinMs + 1)).toBeNull();
  expect(moveOf(moved, moved, 0)).toBeNull();
});

it('lets paths fade, and drops the lightest when a brain has too many', () => {
  expect(decideMove([], 'b', 0)).toEqual({ weight: 1, isNew: true, gone: null });
  const kept = [{ toId: 'b', weight: 3, at: 0 }];
  expect(decideMove(kept, 'b', 30 * DAY)).toEqual({ weight: 2.5, isNew: false, gone: null });
  const many = Array.from({ length: SYNAPSES.ofOneBrain }, (_, n) => ({ toId: `t${n}`, weight: 2 + n, at: n * DAY }));
  expect(decideMove(many, 'new', 64 * DAY)).toMatchObject({ gone: 't0' });
  expect(decideMove(many, 't5', 64 * DAY)).toMatchObject({ isNew: false, gone: null });
});
