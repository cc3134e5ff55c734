/** The deployments with which this one votes, as a system outside of it. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { AGORA } from '@svc/contract/operations.agora.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { AgoraDeps } from '../deps.ts';

export const outsideOperations: Handlers<typeof AGORA, AgoraDeps, 'outside' | 'reach'> = {
  async outside(_question, { deps: { node } }) {
    const { member, missing } = node;
    return { systems: [{ name: 'peers', kind: 'node', configured: member !== null, missing: [...missing] }] };
  },
  async reach(_question, { deps: { node } }) {
    const { member, missing } = node;
    if (member === null) return deny('E_NOT_CONFIGURED', { missing: [...missing] });
    const begunAt = performance.now();
    const peers = await member.peers.list();
    const heard = peers.filter(({ online, conflict }) => online && !conflict);
    if (!member.isListening() || heard.length === 0) return deny('E_UNREACHABLE', { peers: peers.length });
    const detail = `heard within 30 s: ${heard.length} of ${peers.length}`;
    return allow({ latencyMs: Math.round(performance.now() - begunAt), detail });
  },
};
