/** Tokens are minted and revoked. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { shownSubject } from '@svc/contract/subject.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound } from '../domain/agent-rights.ts';
import { isCreator, type MintTerms, mintTerms, type MintWish, mayRevokeToken } from '../domain/grants.ts';
import { contextOf, homeOf, type IdentityRows } from '../domain/identity.ts';
import { holdsNamed } from '../domain/permissions.ts';
import { attestedRoles, heldRoles, memberships } from '../roles.ts';
import { readIdentity } from './identity-rows.ts';
import { rolesToPassOn } from './passing-on.ts';
import { endToken, findToken, holdRolesOf, insertToken, readClock } from './token-rows.ts';
import type { HabitatUnit } from './unit.ts';

interface Mint {
  readonly agentId: string;
  readonly tokenHash: string;
  readonly asked: MintWish;
}

/** The outcome of a keyed call is a row too, so it does not hold the hash. */
export async function mintToken(unit: HabitatUnit, { agentId, tokenHash, asked }: Mint) {
  const tokenId = unit.ids.next('tok');
  await holdRolesOf(unit.tx, agentId);
  const { value: rows } = await readIdentity(unit.tx, agentId);
  const mintedAt = await readClock(unit.tx);
  const terms = await termsFor(unit, rows, asked, mintedAt);
  if (!terms.ok) {
    if (terms.code === 'FORBIDDEN') throw new CallError(terms.code, terms.message);
    return agentNotFound(agentId);
  }
  const { bound, readOnly, profile, expiresAt } = terms.value;
  const subject = contextOf(rows, bound ?? undefined);
  if (subject === null) return agentNotFound(agentId);
  await insertToken(unit, {
    hash: tokenHash,
    tokenId,
    kind: 'habitat',
    agentId,
    workspace: bound,
    readOnly,
    profile,
    claims: null,
    by: actorOf(unit.caller).name,
    mintedAt,
    expiresAt,
  });
  unit.touch();
  const { workspace = '', roles = [] } = subject;
  return allow({
    tokenId,
    agentId,
    workspace,
    roles,
    bound: bound !== null,
    readOnly,
    profile,
    mintedAt,
    expiresAt,
    ttlMs: expiresAt - mintedAt,
    subject: { ...shownSubject(subject), verified: true },
  });
}

async function termsFor(
  { tx, caller }: HabitatUnit,
  rows: IdentityRows,
  asked: MintWish,
  now: number,
): Promise<Decision<MintTerms, 'AGENT_NOT_FOUND' | 'FORBIDDEN'>> {
  const held = await memberships(tx, caller);
  const shared = rows.roles.map(({ workspace }) => workspace).filter((workspace) => held.has(workspace));
  const home = homeOf(rows) ?? '';
  const actor = actorOf(caller);
  const passedOn = isCreator(actor, rows, home) ? await rolesToPassOn(tx, caller, home) : [];
  return mintTerms(asked, { actor, rows, shared, heldAtHome: held.get(home) ?? [], passedOn, now });
}

/** Whoever has the raw value may end it; false also when the caller may not, or there is none like that. */
export async function revokeToken(
  unit: HabitatUnit,
  { tokenOrHash, hashOfGiven }: { readonly tokenOrHash: string; readonly hashOfGiven: string },
): Promise<Decision<{ revoked: boolean }, never>> {
  const { tx, caller } = unit;
  const actor = actorOf(caller);
  const token = await findToken(tx, tokenOrHash, hashOfGiven);
  if (token === null) return allow({ revoked: false });
  const held = token.bound === null ? [] : await heldRoles(tx, caller, token.bound);
  if (!token.presented && !mayRevokeToken(actor, token, held)) return allow({ revoked: false });
  return allow({ revoked: await endToken(unit, token.tokenId, actor.name) });
}

interface AuthMint {
  readonly tokenHash: string;
  readonly userId: string;
  readonly roles: string[];
  /** Where the caller must hold those roles. */
  readonly workspace: string;
}

const AUTH_TTL_MS = 3_600_000;

/** Throws FORBIDDEN to who does not hold the roles by others' doing. */
export async function mintAuthToken(unit: HabitatUnit, { tokenHash, userId, roles, workspace }: AuthMint) {
  const { tx, caller } = unit;
  const held = caller.operator ? null : await attestedRoles(tx, caller, workspace);
  if (held !== null && !roles.every((role) => holdsNamed(held, role)))
    throw new CallError('FORBIDDEN', 'A token shows only roles that somebody else gave the caller.');
  const tokenId = unit.ids.next('tok');
  const mintedAt = await readClock(tx);
  const expiresAt = mintedAt + AUTH_TTL_MS;
  await insertToken(unit, {
    hash: tokenHash,
    tokenId,
    kind: 'auth',
    agentId: userId,
    workspace: null,
    readOnly: false,
    profile: null,
    claims: { userId, roles },
    by: actorOf(caller).name,
    mintedAt,
    expiresAt,
  });
  return allow({ tokenId, userId, roles, expiresAt });
}
