import { toolFor } from '@svc/contract/tool.ts';
import type { BrainAnswer } from '@svc/contract/operations.brain.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { BackupShelf } from './backup/backup-shelf.ts';
import type { RestoreNew } from './backup/restore-new.ts';
import type { BrainHost } from './brain/brain-host.ts';
import type { BrainRouter } from './brain/brain-router.ts';
import type { SyncSettings } from './brain/remotes.ts';
import type { Git } from './git/run.ts';
import type { AddressStore } from './addresses/address-store.ts';
import type { LineageStore } from './lineage/lineage-store.ts';
import type { MemoryStore } from './memory/memory-store.ts';
import type { RecordStore } from './records/record-store.ts';
import type { EvolutionStore } from './evolution/evolution-store.ts';
import type { RelationStore } from './relations/relation-store.ts';
import type { Meaning } from './embedding/meaning.ts';
import type { HeartbeatStore } from './context/heartbeat-store.ts';
import type { ContextStore } from './context/context-store.ts';
import type { RowRules } from './ports.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { Settings } from '@svc/runtime/settings.ts';
import type { CopyBoundaries } from './rules/copy-boundaries.ts';
import type { HomeRoles, WorkspacesOf } from './rules/home-roles.ts';
import type { LegacyLayout } from './legacy-layout.ts';
import type { CatalogueSize, Counted } from './store/catalogue.ts';
import type { TellDenials } from './store/island-denials.ts';
import type { TmpStore } from './tmp/tmp-store.ts';
import type { Counters } from './writer/counters.ts';
import type { StegoThreads } from './stego/stego-threads.ts';
import type { RemoteStore } from './sync/remote-store.ts';
import type { SyncStore } from './sync/sync-store.ts';
import type { SessionStore } from './store/session-store.ts';

/** What contexts are built with. */
interface ContextParts {
  readonly store: ContextStore;
  readonly heartbeats: HeartbeatStore;
  /** Those of this service. */
  readonly tools: readonly { readonly name: string; readonly description: string }[];
}

/** What the brain's tools work with. */
export interface BrainDeps {
  readonly defaultBrain: string;
  readonly sessions: SessionStore;
  readonly router: BrainRouter;
  readonly host: BrainHost;
  readonly layout: LegacyLayout;
  readonly rules: RowRules;
  /** What a caller holds in a workspace. */
  readonly homeRoles: HomeRoles;
  readonly workspacesOf: WorkspacesOf;
  /** What an identity holds in a workspace. Throws SERVICE_UNAVAILABLE when the registry does not answer. */
  rolesOf(identity: string, workspace: string): Promise<readonly string[]>;
  readonly boundaries: CopyBoundaries;
  readonly settings: Settings;
  readonly meaning: Meaning;
  /** Throws what the registry answers, SERVICE_UNAVAILABLE when it does not. */
  readonly changeSetting: RegistryClient<'brain'>['changeSetting'];
  readonly revision: RegistryClient<'brain'>['revision'];
  /** Throws SERVICE_UNAVAILABLE when the registry does not answer. */
  readonly agents: RegistryClient<'brain'>['agents'];
  /** Where a brain, a file in one, or an island is at home. */
  homesOf(resource: string): Promise<BrainAnswer<'home'>>;
  readonly syncs: SyncStore;
  readonly remotes: SyncSettings;
  readonly namedRemotes: RemoteStore;
  readonly git: Git;
  readonly backups: BackupShelf;
  readonly restoreNew: RestoreNew;
  readonly stego: StegoThreads;
  readonly tmp: TmpStore;
  readonly tellDenials: TellDenials;
  readonly memory: MemoryStore;
  readonly addresses: AddressStore;
  readonly lineage: LineageStore;
  readonly records: RecordStore;
  readonly relations: RelationStore;
  readonly evolutions: EvolutionStore;
  readonly contexts: ContextParts;
  readonly log: Platform['log'];
  readonly clock: Platform['clock'];
  /** What the scope stands for; null = it took no effect, and never will. */
  forgo<Value>(scope: IdempotencyScope): Promise<Value | null>;
  /** Of this process. */
  readonly counters: Counters;
  /** Of each brain's main branch, as last looked at; brains never opened are missing. */
  catalogueSizes(brains: readonly string[]): Promise<Map<string, CatalogueSize>>;
  /** The same for one brain, without some of its files. */
  catalogueSizeOf(brain: string, counted: Counted): Promise<CatalogueSize>;
  readonly version: string;
  readonly gitVersion: string;
}

export const defineTool = toolFor<BrainDeps>();
