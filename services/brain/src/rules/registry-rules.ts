/** Row rules as the registry of identities keeps them, remembered for exactly as long as they stay true. */
import { CallError } from '@svc/contract/codes.ts';
import { sortedJson } from '@svc/contract/canonical.ts';
import { homeKey, workspaceOfHomeKey } from '@svc/contract/policy.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import { LRUCache } from 'lru-cache';
import { hidesFieldsByName } from '../domain/fields/hidden-fields.ts';
import type { EventRules, FilePlaces, HidesFields, RowRules, RowView } from '../ports.ts';
import { type AttachedPolicy, BrainRules, createChainNumbers, NO_PLACES } from './brain-rules.ts';
import { JudgedTexts, type OnUnjudged } from './judged-texts.ts';
import { subjectKey, subjectView } from './subject-view.ts';

interface RememberedRules {
  /** Part `policies` of the stamp they were read under. */
  readonly under: number;
  /** Equal texts, equal policies. */
  readonly own: string;
  readonly everywhere: string;
  readonly rules: BrainRules;
  readonly views: LRUCache<string, RowView>;
}

interface BrainMemory {
  remembered: RememberedRules | null;
  reading: Promise<RememberedRules> | null;
}

/** Policies of one answer, apart for each brain. */
interface ReadPolicies {
  readonly under: number;
  /** Those that hold in every brain. */
  readonly everywhere: { readonly islands: PolicyMap; readonly homes: PolicyMap };
  readonly everywhereText: string;
  ownOf(brain: string): PolicyMap;
}

type PolicyMap = ReadonlyMap<string, AttachedPolicy>;

const BRAINS = 512;
const VIEWS = 1000;

export class RegistryRules implements RowRules {
  readonly #registry: Pick<RegistryClient<'brain'>, 'attached' | 'revision'>;
  readonly #hashKey: Uint8Array;
  readonly #brains = new LRUCache<string, BrainMemory>({ max: BRAINS });
  // One for all brains and for good: an index that outlives what is remembered here must not meet a number again.
  readonly #numbers = createChainNumbers();

  readonly #texts: JudgedTexts;
  /** Of the brains that are open here. */
  readonly #places = new Map<string, FilePlaces>();

  /** `hashKey`: under which hashes of files with hidden fields are shown. */
  constructor(
    registry: Pick<RegistryClient<'brain'>, 'attached' | 'revision'>,
    hashKey: Uint8Array,
    onUnjudged: OnUnjudged,
  ) {
    this.#registry = registry;
    this.#hashKey = hashKey;
    this.#texts = new JudgedTexts(onUnjudged);
  }

  /** Where the files of a brain are at home that is opened here; null = it was closed. */
  place(brain: string, places: FilePlaces | null): void {
    if (places === null) this.#places.delete(brain);
    else this.#places.set(brain, places);
  }

  async #stamp(): Promise<RegistryStamp> {
    return (await this.#registry.revision()).stamp;
  }

  async view(subject: Subject, brain: string, stamp: RegistryStamp | null): Promise<RowView> {
    return this.#viewIn(await this.#current(brain, stamp ?? (await this.#stamp())), subject);
  }

  async views(subject: Subject, brains: readonly string[], stamp: RegistryStamp | null): Promise<RowView[]> {
    const known = stamp ?? (await this.#stamp());
    const stale = brains.filter((brain) => this.#memoryOf(brain).remembered?.under !== known.policies);
    const fresh = stale.length > 1 ? await this.#readAll() : null;
    const current = async (brain: string) =>
      fresh !== null && stale.includes(brain) ? this.#remember(brain, fresh) : this.#current(brain, known);
    return Promise.all(brains.map(async (brain) => this.#viewIn(await current(brain), subject)));
  }

  #viewIn({ rules, views }: RememberedRules, subject: Subject): RowView {
    const key = rules.isEmpty ? '' : subjectKey(subject);
    const known = views.get(key);
    if (known !== undefined) return known;
    const view = subjectView(rules, subject, this.#hashKey);
    views.set(key, view);
    return view;
  }

  async hiding(brain: string): Promise<HidesFields> {
    try {
      const { rules } = await this.#current(brain, await this.#stamp());
      return rules.hides;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      return hidesFieldsByName;
    }
  }

  lastHiding(brain: string): HidesFields {
    return this.#brains.get(brain)?.remembered?.rules.hides ?? hidesFieldsByName;
  }

  async eventRules(brain: string): Promise<EventRules> {
    try {
      return (await this.#current(brain, await this.#stamp())).rules;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      return this.#brains.get(brain)?.remembered?.rules ?? UNKNOWN_RULES(brain);
    }
  }

  /** Callers at the same time share a reading, unless it began too early for one of them. */
  async #current(brain: string, { policies: under }: RegistryStamp): Promise<RememberedRules> {
    const memory = this.#memoryOf(brain);
    if (memory.remembered?.under === under) return memory.remembered;
    const shared = memory.reading === null ? null : await memory.reading;
    if (shared?.under === under) return shared;
    memory.reading ??= this.#read(`brain:${brain}`, [])
      .then((policies) => this.#remember(brain, policies))
      .finally(() => {
        memory.reading = null;
      });
    return memory.reading;
  }

  /** Of every brain, in one question. */
  #readAll(): Promise<ReadPolicies> {
    return this.#read(BRAIN_KEY, [BRAIN_KEY]);
  }

  async #read(root: string, prefixes: readonly string[]): Promise<ReadPolicies> {
    const { stamp, policies } = await this.#registry.attached({
      root,
      prefixes: [ISLAND_KEY, HOME_PREFIX, ...prefixes],
    });
    const [islands, homes] = [new Map<string, AttachedPolicy>(), new Map<string, AttachedPolicy>()];
    const brains = new Map<string, Map<string, AttachedPolicy>>();
    for (const [resource, policy] of Object.entries(policies)) {
      const home = workspaceOfHomeKey(resource);
      if (home !== null) homes.set(home, { resource, ...policy });
      if (home !== null) continue;
      const brain = brainOfKey(resource);
      const place = brain === null ? islands : (brains.get(brain) ?? new Map<string, AttachedPolicy>());
      place.set(resource, { resource, ...policy });
      if (brain !== null) brains.set(brain, place);
    }
    const none = new Map<string, AttachedPolicy>();
    const ownOf = (brain: string): PolicyMap => brains.get(brain) ?? none;
    const everywhere = { islands, homes };
    return { under: stamp.policies, everywhere, everywhereText: textOf(islands) + textOf(homes), ownOf };
  }

  /** What others know of the brain stays theirs while its policies are the same. */
  #remember(brain: string, { under, everywhere, everywhereText, ownOf }: ReadPolicies): RememberedRules {
    const memory = this.#memoryOf(brain);
    const own = textOf(ownOf(brain));
    const before = memory.remembered;
    const placesOf = (name: string): FilePlaces => this.#places.get(name) ?? NO_PLACES;
    const means = { numbers: this.#numbers, texts: this.#texts, placesOf };
    const same = before?.own === own && before.everywhere === everywhereText ? before : null;
    memory.remembered = {
      under,
      own,
      everywhere: everywhereText,
      rules: same?.rules ?? new BrainRules(brain, { own: ownOf(brain), ...everywhere }, means),
      views: same?.views ?? new LRUCache<string, RowView>({ maxSize: VIEWS, sizeCalculation: () => 1 }),
    };
    return memory.remembered;
  }

  #memoryOf(brain: string): BrainMemory {
    const known = this.#brains.get(brain);
    if (known !== undefined) return known;
    const memory: BrainMemory = { remembered: null, reading: null };
    this.#brains.set(brain, memory);
    return memory;
  }
}

const UNKNOWN_RULES = (brain: string): EventRules => ({
  isUnruled: false,
  isUnruledButIslands: false,
  narrower: (path) => [`brain:${brain}/${path}`],
});

const BRAIN_KEY = 'brain:';
const ISLAND_KEY = '_island:';
const HOME_PREFIX = homeKey('');

/** Null for the key of an island. */
function brainOfKey(resource: string): string | null {
  if (!resource.startsWith(BRAIN_KEY)) return null;
  const end = resource.indexOf('/');
  return resource.slice(BRAIN_KEY.length, end === -1 ? undefined : end);
}

function textOf(policies: PolicyMap): string {
  return sortedJson(Object.fromEntries(policies));
}
