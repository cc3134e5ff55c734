import { toolFor } from '@svc/contract/tool.ts';
import type { BrainAnswer } from '@svc/contract/operations.brain.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { BrainHost } from './brain/brain-host.ts';
import type { BrainRouter } from './brain/brain-router.ts';
import type { RowRules } from './ports.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { Settings } from '@svc/runtime/settings.ts';
import type { CopyBoundaries } from './rules/copy-boundaries.ts';
import type { HomeRoles } from './rules/home-roles.ts';
import type { LegacyLayout } from './legacy-layout.ts';
import type { CatalogueSize, Counted } from './store/catalogue.ts';
import type { TellDenials } from './store/island-denials.ts';
import type { Counters } from './writer/counters.ts';
import type { SessionStore } from './store/session-store.ts';

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
  readonly copyBoundaries: CopyBoundaries;
  readonly settings: Settings;
  /** Throws what the registry answers, SERVICE_UNAVAILABLE when it does not. */
  readonly changeSetting: RegistryClient<'brain'>['changeSetting'];
  readonly revision: RegistryClient<'brain'>['revision'];
  /** Where a brain, a file in one, or an island is at home. */
  homesOf(resource: string): Promise<BrainAnswer<'home'>>;
  readonly tellDenials: TellDenials;
  readonly log: Platform['log'];
  /** Of this process. */
  readonly counters: Counters;
  /** Of each brain's main branch, as last looked at; brains never opened are missing. */
  catalogueSizes(brains: readonly string[]): Promise<Map<string, CatalogueSize>>;
  /** The same for one brain, without some of its files. */
  catalogueSizeOf(brain: string, counted: Counted): Promise<CatalogueSize>;
  readonly version: string;
  readonly gitVersion: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

export const defineTool = toolFor<BrainDeps>();
