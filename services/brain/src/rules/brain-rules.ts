/** The policies attached in one brain, arranged by the files they apply to. */
import {
  decide,
  homeResource,
  type KeySet,
  type Policy,
  type PolicyMode,
  workspaceOfHomeKey,
} from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { isKnownFilter, isKnownMask } from '@svc/contract/transform.ts';
import { LRUCache } from 'lru-cache';
import { hidesFieldsOf, indexedText, mergedText, shownText } from '../domain/fields/hidden-fields.ts';
import { islandKey, islandOf, ownKeys, resourceKeys } from '../domain/resource-keys.ts';
import { JudgedTexts } from './judged-texts.ts';
import { OPEN_CHAIN, type FilePlaces, type RowChain, type RowChains, type RowVerdict } from '../ports.ts';

export interface AttachedPolicy extends Policy {
  readonly resource: string;
}

const NO_POLICY: RowVerdict = { allowed: true, because: 'no-policy', container: null };

/** All policies on the way to some files; every one of them must admit. */
export class PolicyChain implements RowChain {
  readonly id: number;
  readonly policies: readonly AttachedPolicy[];
  readonly #isKnown: boolean;
  readonly #texts: JudgedTexts;

  constructor(id: number, policies: readonly AttachedPolicy[], texts: JudgedTexts) {
    this.id = id;
    this.policies = policies;
    this.#texts = texts;
    this.#isKnown = policies.every(({ filter, mask }) => isKnownFilter(filter) && isKnownMask(mask));
  }

  /** The first denial, from the outermost policy on, else what the innermost one says. */
  verdict(subject: Subject, mode: PolicyMode, keys: KeySet): RowVerdict {
    let last = NO_POLICY;
    for (const policy of this.policies) {
      const { container } = policy;
      last = { ...decide(policy, subject, mode, keys), container };
      if (!last.allowed) return last;
      if (!this.#isKnown) return { allowed: false, because: 'transform', container };
    }
    return last;
  }

  hides(path: string): boolean {
    return this.policies.length > 0 && hidesFieldsOf(path, this.policies);
  }

  indexed(path: string, text: string): string | null {
    if (!this.#isKnown) return null;
    const judge = (): string | null => indexedText(path, text, this.policies);
    return this.#texts.remembered(`indexed ${this.id}`, path, text, judge);
  }

  /** The text as it is shown; null = nothing of it is. */
  shown(path: string, text: string): string | null {
    if (!this.hides(path)) return text;
    const judge = (): string | null => shownText(path, text, this.policies);
    return this.#texts.remembered(`shown ${this.id}`, path, text, judge);
  }

  /** What a write of `incoming` makes of the file; null when that cannot hold what is hidden. */
  merged(path: string, present: string | null, incoming: string): string | null {
    if (!this.hides(path)) return incoming;
    // As it was shown to whoever changed it: often it is known.
    const shown = present === null ? null : this.shown(path, present);
    return this.#texts.judged(path, () => mergedText(path, present, incoming, this.policies, shown));
  }
}

const NO_POLICIES = new PolicyChain(OPEN_CHAIN.id, [], new JudgedTexts(() => {}));

/** Gives equal lists of policies equal numbers, also from one state of the rules to the next. */
interface ChainNumbers {
  numberOf(policies: readonly AttachedPolicy[]): number;
}

const ISLANDS = 'islands';
const ISLAND_FORMS = ['md', 'json'] as const;
const REMEMBERED_CHAINS = 4096;
const REMEMBERED_PLACES = 20_000;

export function createChainNumbers(): ChainNumbers {
  const numbers = new Map<string, number>();
  let last = OPEN_CHAIN.id;
  return {
    numberOf(policies) {
      const key = JSON.stringify(policies);
      const known = numbers.get(key);
      if (known !== undefined) return known;
      // A chain that is numbered again only costs the index another look at its files.
      if (numbers.size >= REMEMBERED_CHAINS) numbers.clear();
      last += 1;
      numbers.set(key, last);
      return last;
    },
  };
}

/** By resource; those of islands hold in every brain. */
interface AttachedPolicies {
  readonly own: ReadonlyMap<string, AttachedPolicy>;
  readonly islands: ReadonlyMap<string, AttachedPolicy>;
  /** By workspace: of what is at home there and has none of its own. */
  readonly homes: ReadonlyMap<string, AttachedPolicy>;
}

export const NO_PLACES: FilePlaces = { workspaceOf: () => null, workspaces: () => [], pathsIn: () => [] };

interface RuleMeans {
  readonly numbers: ChainNumbers;
  readonly texts: JudgedTexts;
  readonly placesOf: (brain: string) => FilePlaces;
}

/** Changes only with where files are at home, and in what it remembers of its own answers. */
export class BrainRules implements RowChains {
  readonly brain: string;
  readonly #own: ReadonlyMap<string, AttachedPolicy>;
  readonly #islands: ReadonlyMap<string, AttachedPolicy>;
  readonly #homes: ReadonlyMap<string, AttachedPolicy>;
  readonly #placesNow: () => FilePlaces;
  readonly #numbers: ChainNumbers;
  readonly #texts: JudgedTexts;
  /** By directory, by a file's own path, by an island's key: whoever asks for names that nobody uses must not fill the memory. */
  readonly #known = new LRUCache<string, PolicyChain>({
    // Not `max`, which takes room for all of them at once, in every open brain.
    maxSize: REMEMBERED_PLACES,
    sizeCalculation: () => 1,
  });
  readonly #chains = new Map<number, PolicyChain>([[NO_POLICIES.id, NO_POLICIES]]);

  constructor(brain: string, { own, islands, homes }: AttachedPolicies, { numbers, texts, placesOf }: RuleMeans) {
    this.brain = brain;
    this.#homes = homes;
    this.#placesNow = () => placesOf(brain);
    this.#texts = texts;
    this.#own = own;
    this.#islands = islands;
    this.#numbers = numbers;
  }

  /** Everybody is answered alike, whatever is made in the brain. */
  get isEmpty(): boolean {
    return this.#homes.size === 0 && this.isUnruled;
  }

  get isUnruled(): boolean {
    return this.#islands.size === 0 && this.isUnruledButIslands;
  }

  get isUnruledButIslands(): boolean {
    return this.#own.size === 0 && this.homePolicies().length === 0;
  }

  /** The files and directories to which more applies than to the brain; files outside are all on its chain. */
  scopes(): string[] {
    const root = `brain:${this.brain}/`;
    const below = [...this.#own.keys()].filter((key) => key.startsWith(root)).map((key) => key.slice(root.length));
    return this.#islands.size === 0 ? below : [...below, ISLANDS];
  }

  /** Those attached to the brain and below it. */
  ownPolicies(): Iterable<AttachedPolicy> {
    return this.#own.values();
  }

  /** Those of the workspaces in which something of this brain is at home. */
  homePolicies(): readonly AttachedPolicy[] {
    if (this.#homes.size === 0) return [];
    return [...this.#placesNow().workspaces()].flatMap((workspace) => this.#homes.get(workspace) ?? []);
  }

  /** Workspaces with a boundary for what is at home there; of other processes it is not known which files are. */
  homes(): Iterable<[workspace: string, policy: AttachedPolicy]> {
    return this.#homes;
  }

  /** Those of islands, which hold in every brain. */
  islandPolicies(): Iterable<AttachedPolicy> {
    return this.#islands.values();
  }

  /** Resources below the brain with a policy on the way to the file. */
  narrower(path: string): readonly string[] {
    return this.chainOf(path).policies.flatMap(({ resource }) => {
      const home = workspaceOfHomeKey(resource);
      if (home !== null) return [homeResource(home, ownKeys(this.brain, path))];
      return resource === `brain:${this.brain}` ? [] : [resource];
    });
  }

  /** The scopes once more, with single files instead of what is at home elsewhere and of all islands. */
  places(): string[] {
    return [...this.bounded(), ...[...this.#homes.keys()].flatMap((workspace) => this.#placesNow().pathsIn(workspace))];
  }

  /** What has a boundary of its own, in which the one of its home does not count. */
  bounded(): string[] {
    const gated = [...this.#islands.keys()].map((key) => key.slice(islandKey('').length));
    const files = gated.flatMap((island) => ISLAND_FORMS.map((extension) => `${ISLANDS}/${island}.${extension}`));
    return [
      ...this.scopes().filter((path) => path !== ISLANDS || this.#own.has(`brain:${this.brain}/${ISLANDS}`)),
      ...files,
    ];
  }

  /** Every chain that `chainOf` has answered so far, and the one without a policy. */
  get chains(): Iterable<PolicyChain> {
    return this.#chains.values();
  }

  /** `maker`: where the file is at home when it is made now, and nothing is known of it; null = where the brain is. */
  chainOf(path: string, maker: string | null = null): PolicyChain {
    const home = this.#homes.size === 0 ? null : (this.#placesNow().workspaceOf(path) ?? maker);
    const boundary = home === null ? undefined : this.#homes.get(home);
    if (boundary === undefined && this.isUnruled) return NO_POLICIES;
    const own = `brain:${this.brain}/${path}`;
    if (this.#own.has(own)) return this.#remembered(own, () => resourceKeys(this.brain, path));
    const island = islandOf(path);
    const gate = island === null ? null : islandKey(island);
    if (gate !== null && this.#islands.has(gate)) return this.#remembered(gate, () => resourceKeys(this.brain, path));
    const directory = path.slice(0, path.lastIndexOf('/') + 1);
    if (boundary === undefined) return this.#directoryChain(directory);
    return this.#remembered(`${boundary.resource}/${directory}`, () => [
      ...resourceKeys(this.brain, directory).slice(0, -1),
      boundary.resource,
    ]);
  }

  /** Of what belongs to the brain as a whole. */
  brainChain(): PolicyChain {
    return this.isUnruled ? NO_POLICIES : this.#directoryChain('');
  }

  readonly hides = (path: string): boolean => this.chainOf(path).hides(path);

  gate(island: string): Policy | null {
    const attached = this.#islands.get(islandKey(island));
    if (attached === undefined) return null;
    const { resource: _resource, ...policy } = attached;
    return policy;
  }

  /** `directory` ends with a slash, or is empty; a file without policies of its own has those of its directory. */
  #directoryChain(directory: string): PolicyChain {
    return this.#remembered(directory, () => resourceKeys(this.brain, directory).slice(0, -1));
  }

  #remembered(place: string, keys: () => readonly string[]): PolicyChain {
    const known = this.#known.get(place);
    if (known !== undefined) return known;
    const chain = this.#chainOfKeys(keys());
    this.#known.set(place, chain);
    return chain;
  }

  #homeOfKey(key: string): AttachedPolicy | undefined {
    const workspace = workspaceOfHomeKey(key);
    return workspace === null ? undefined : this.#homes.get(workspace);
  }

  #chainOfKeys(keys: readonly string[]): PolicyChain {
    const policies = keys.flatMap((key) => this.#own.get(key) ?? this.#islands.get(key) ?? this.#homeOfKey(key) ?? []);
    if (policies.length === 0) return NO_POLICIES;
    const id = this.#numbers.numberOf(policies);
    const known = this.#chains.get(id);
    if (known !== undefined) return known;
    const chain = new PolicyChain(id, policies, this.#texts);
    this.#chains.set(id, chain);
    return chain;
  }
}
