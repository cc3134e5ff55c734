/** Row rules as the registry of identities keeps them, remembered for exactly as long as they stay true. */
import { CallError } from '@svc/contract/codes.ts';
import { canonicalJson } from '@svc/contract/canonical.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import { LRUCache } from 'lru-cache';
import { hidesFieldsByName } from '../domain/fields/hidden-fields.ts';
import type { HidesFields, RowRules, RowView } from '../ports.ts';
import { BrainRules, createChainNumbers } from './brain-rules.ts';
import { subjectKey, subjectView } from './subject-view.ts';

interface RememberedRules {
  /** Part `policies` of the stamp they were read under. */
  readonly under: number;
  /** Equal text, equal policies. */
  readonly content: string;
  readonly rules: BrainRules;
  readonly views: LRUCache<string, RowView>;
}

interface BrainMemory {
  remembered: RememberedRules | null;
  reading: Promise<RememberedRules> | null;
}

const BRAINS = 512;
const VIEWS = 1000;

export class RegistryRules implements RowRules {
  readonly #registry: RegistryClient;
  readonly #hashKey: Uint8Array;
  readonly #brains = new LRUCache<string, BrainMemory>({ max: BRAINS });
  // One for all brains and for good: an index that outlives what is remembered here must not meet a number again.
  readonly #numbers = createChainNumbers();

  /** `hashKey`: under which hashes of files with hidden fields are shown. */
  constructor(registry: RegistryClient, hashKey: Uint8Array) {
    this.#registry = registry;
    this.#hashKey = hashKey;
  }

  async stamp(): Promise<RegistryStamp> {
    return (await this.#registry.revision()).stamp;
  }

  async view(subject: Subject, brain: string, stamp: RegistryStamp | null): Promise<RowView> {
    const { rules, views } = await this.#current(brain, stamp ?? (await this.stamp()));
    const key = rules.isEmpty ? '' : subjectKey(subject);
    const known = views.get(key);
    if (known !== undefined) return known;
    const view = subjectView(rules, subject, this.#hashKey);
    views.set(key, view);
    return view;
  }

  async hiding(brain: string): Promise<HidesFields> {
    try {
      const { rules } = await this.#current(brain, await this.stamp());
      return rules.hides;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      return hidesFieldsByName;
    }
  }

  lastHiding(brain: string): HidesFields {
    return this.#brains.get(brain)?.remembered?.rules.hides ?? hidesFieldsByName;
  }

  /** Callers at the same time share a reading, unless it began too early for one of them. */
  async #current(brain: string, { policies: under }: RegistryStamp): Promise<RememberedRules> {
    const memory = this.#memoryOf(brain);
    if (memory.remembered?.under === under) return memory.remembered;
    const shared = memory.reading === null ? null : await memory.reading;
    if (shared?.under === under) return shared;
    memory.reading ??= this.#read(brain, memory).finally(() => {
      memory.reading = null;
    });
    return memory.reading;
  }

  async #read(brain: string, memory: BrainMemory): Promise<RememberedRules> {
    const { stamp, policies } = await this.#registry.ask('attached', {
      root: `brain:${brain}`,
      prefixes: ['_island:'],
    });
    const content = canonicalJson(policies);
    const same = memory.remembered?.content === content ? memory.remembered : null;
    const rules = same?.rules ?? new BrainRules(brain, policies, this.#numbers);
    const views = same?.views ?? new LRUCache<string, RowView>({ max: VIEWS });
    memory.remembered = { under: stamp.policies, content, rules, views };
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
