/** The rules of a brain as they apply to one subject. */
import { createHmac } from 'node:crypto';
import { decide, type KeySet, keysOf, type Policy, type PolicyMode } from '@svc/contract/policy.ts';
import { isAnonymous, type Subject } from '@svc/contract/subject.ts';
import { islandOf } from '../domain/resource-keys.ts';
import type { RowVerdict, RowView, WriteDenial } from '../ports.ts';
import type { BrainRules, PolicyChain } from './brain-rules.ts';

/** One value for subjects that every rule treats alike. */
export function subjectKey(subject: Subject): string {
  return JSON.stringify([subject.workspace ?? null, isAnonymous(subject), ...keysOf(subject)]);
}

export function subjectView(rules: BrainRules, subject: Subject, hashKey: Uint8Array): RowView {
  const keys = keysOf(subject);
  const verdictOf = remembered((chain, mode) => chain.verdict(subject, mode, keys));
  const verdict = (path: string, mode: PolicyMode): RowVerdict => verdictOf(rules.chainOf(path), mode);
  const { hides } = rules;
  const writeDenial = (path: string, maker?: string | null): WriteDenial | null => {
    const island = islandOf(path);
    if (island !== null && isAnonymous(subject) && rules.gate(island) !== null) return 'E_ISLAND_WRITE_DENIED';
    return verdictOf(rules.chainOf(path, maker), 'write').allowed ? null : 'RLS_DENIED';
  };
  const whole = wholeness(rules, (policy) => hidesNothing(policy, subject, keys));
  return {
    mayOpen: verdictOf(rules.brainChain(), 'read').allowed,
    mayChange: verdictOf(rules.brainChain(), 'write').allowed,
    get isUnruled() {
      return rules.isUnruled;
    },
    get isWhole() {
      return whole.butIslands() && whole.ofIslands();
    },
    get isWholeButIslands() {
      return whole.butIslands();
    },
    scopes: () => rules.scopes(),
    bounded: () => rules.bounded(),
    shutHomes: () =>
      [...rules.homes()].flatMap(([workspace, policy]) =>
        decide(policy, subject, 'read', keys).allowed ? [] : [workspace],
      ),
    unreadable: () => rules.places().filter((path) => !verdict(path, 'read').allowed),
    chains: rules,
    mayRead: (path) => verdict(path, 'read').allowed,
    mayWrite: (path) => writeDenial(path) === null,
    writeDenial,
    verdict,
    gate: (island) => rules.gate(island),
    admitted() {
      if (rules.isUnruled) return null;
      const chains = [...rules.chains].filter((chain) => verdictOf(chain, 'read').allowed);
      return new Set(chains.map(({ id }) => id));
    },
    hides,
    shown: (path, text) => rules.chainOf(path).shown(path, text),
    merged: (path, present, incoming) => rules.chainOf(path).merged(path, present, incoming),
    // Bound to its place: two files with one hash would tell that what they hide is equal.
    shownHash: (state, path, hash) =>
      hides(path)
        ? createHmac('sha256', hashKey).update([rules.brain, state, path, hash].join('\0')).digest('hex')
        : hash,
  };
}

/** Asked of the rules and never of the files: what it says must not tell whether there is something to hide. */
function wholeness(rules: BrainRules, isOpen: (policy: Policy) => boolean) {
  const areOpen = (policies: Iterable<Policy>): boolean => [...policies].every(isOpen);
  let isOwnOpen: boolean | null = null;
  let areIslandsOpen: boolean | null = null;
  return {
    // Where things are at home changes while the rules stay.
    butIslands: () => (isOwnOpen ??= areOpen(rules.ownPolicies())) && areOpen(rules.homePolicies()),
    ofIslands: () => (areIslandsOpen ??= areOpen(rules.islandPolicies())),
  };
}

function hidesNothing(policy: Policy, subject: Subject, keys: KeySet): boolean {
  return policy.filter.length === 0 && policy.mask.length === 0 && decide(policy, subject, 'read', keys).allowed;
}

type Judge = (chain: PolicyChain, mode: PolicyMode) => RowVerdict;

function remembered(judge: Judge): Judge {
  const verdicts = { read: new Map<number, RowVerdict>(), write: new Map<number, RowVerdict>() };
  return (chain, mode) => {
    const known = verdicts[mode].get(chain.id);
    if (known !== undefined) return known;
    const verdict = judge(chain, mode);
    verdicts[mode].set(chain.id, verdict);
    return verdict;
  };
}
