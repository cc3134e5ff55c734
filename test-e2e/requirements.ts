/** Every behaviour that the scenarios prove, one line each: `id: [source, behaviour]`. */
import { AGORA_FEDERATION } from './requirements/agora-federation.ts';
import { ACCESS } from './requirements/access.ts';
import { BRAIN_COMMITS } from './requirements/brain-commits.ts';
import { BRAIN_HISTORY } from './requirements/brain-history.ts';
import { BRAIN_MEMORY } from './requirements/brain-memory.ts';
import { BRAIN_MERGING } from './requirements/brain-merging.ts';
import { BRAIN_NAMES } from './requirements/brain-names.ts';
import { BRAIN_RELATIONS } from './requirements/brain-relations.ts';
import { BRAIN_ROWS } from './requirements/brain-rows.ts';
import { BRAIN_RULES } from './requirements/brain-rules.ts';
import { BRAIN_SYNC } from './requirements/brain-sync.ts';
import { BRAIN_TOOLS } from './requirements/brain-tools.ts';
import { CLI } from './requirements/cli.ts';
import { CLIENT } from './requirements/client.ts';
import { CONSENSUS } from './requirements/consensus.ts';
import { CONTEXT } from './requirements/context.ts';
import { COPIES } from './requirements/copies.ts';
import { DISK } from './requirements/disk.ts';
import { ESCROW } from './requirements/escrow.ts';
import { EVENT_LOG } from './requirements/event-log.ts';
import { GATEWAY } from './requirements/gateway.ts';
import { GUIDES } from './requirements/guides.ts';
import { HABITAT_RECORDS } from './requirements/habitat-records.ts';
import { HABITAT_AGENTS } from './requirements/habitat-agents.ts';
import { HABITAT_SUDO } from './requirements/habitat-sudo.ts';
import { HABITAT_TRUST } from './requirements/habitat-trust.ts';
import { HABITAT } from './requirements/habitat-registry.ts';
import { ISLANDS } from './requirements/islands.ts';
import { MARKET } from './requirements/market.ts';
import { FORUM } from './requirements/forum.ts';
import { MESSAGES } from './requirements/messages.ts';
import { MCP } from './requirements/mcp.ts';
import { OPERATION } from './requirements/operation.ts';
import { PEOPLE } from './requirements/people.ts';
import { DOORS } from './requirements/doors.ts';
import { SANDBOX } from './requirements/sandbox.ts';
import { SETTINGS } from './requirements/settings.ts';
import { STORAGE } from './requirements/storage.ts';
import { TEMPORARY } from './requirements/temporary.ts';
import { TOKENS } from './requirements/tokens.ts';
import { CREWS } from './requirements/crews.ts';
import { UNIVERSE } from './requirements/universe.ts';
import { WORLDS } from './requirements/worlds.ts';

const ALL = {
  ...GATEWAY,
  ...BRAIN_RULES,
  ...BRAIN_TOOLS,
  ...TEMPORARY,
  ...CREWS,
  ...UNIVERSE,
  ...WORLDS,
  ...STORAGE,
  ...BRAIN_SYNC,
  ...COPIES,
  ...BRAIN_COMMITS,
  ...BRAIN_NAMES,
  ...BRAIN_HISTORY,
  ...BRAIN_MERGING,
  ...BRAIN_MEMORY,
  ...BRAIN_RELATIONS,
  ...BRAIN_ROWS,
  ...CONSENSUS,
  ...CONTEXT,
  ...ACCESS,
  ...GUIDES,
  ...OPERATION,
  ...HABITAT,
  ...ISLANDS,
  ...TOKENS,
  ...HABITAT_RECORDS,
  ...HABITAT_TRUST,
  ...HABITAT_AGENTS,
  ...HABITAT_SUDO,
  ...ESCROW,
  ...EVENT_LOG,
  ...PEOPLE,
  ...DISK,
  ...SANDBOX,
  ...DOORS,
  ...SETTINGS,
  ...MARKET,
  ...MESSAGES,
  ...FORUM,
  ...MCP,
  ...CLIENT,
  ...CLI,
  ...AGORA_FEDERATION,
};

export type RequirementId = keyof typeof ALL;

interface Requirement {
  readonly id: RequirementId;
  readonly source: string;
  readonly behaviour: string;
}

export const REQUIREMENTS: readonly Requirement[] = Object.entries(ALL).map(([id, [source, behaviour]]) => ({
  id: id as RequirementId,
  source,
  behaviour,
}));

export function behaviourOf(id: RequirementId): string {
  return ALL[id][1];
}
