/** Deployments that vote together. */
export const AGORA_FEDERATION = {
  'agora:federation:three': [
    'agora acceptance: cross-node sync 2',
    'Three deployments on one bus vote on one topic, survive a kill, and come to one hash; a copy whose owner contradicts itself is frozen; operators hear of all of it.',
  ],
  'agora:federation:converges': [
    'agora acceptance: cross-node sync 3; agora acceptance: cross-node sync 9',
    'Deployments that vote on each other’s topics while what they say is lost, doubled, late or kept back, the NATS goes away and they are killed, hold one ledger of each topic once each has asked each owner: open, decided, sealed and unsealed.',
  ],
  'agora:federation:member': [
    'agora acceptance: cross-node sync 2; agora acceptance: cross-node sync 3; agora acceptance: cross-node sync 6; agora acceptance: cross-node sync 7',
    'A deployment of several processes is one member among others: a ballot from abroad counts once, is signed for one outcome and one principal, and what its sender may not see is absent, whichever process answers.',
  ],
  'agora:federation:clusters': [
    'agora acceptance: cross-node sync 2; agora acceptance: cross-node sync 3',
    'Clusters that share one NATS hear each other as members only: they vote on one topic while the process that counts is killed, and hold one ledger of it.',
  ],
  'agora:federation:hostile': [
    'agora acceptance: cross-node sync 4; agora acceptance: cross-node sync 5; agora acceptance: cross-node sync 10',
    'Whatever is said again, too early, by a stranger, with another secret or in the place of an owner has no effect, whichever process hears it and whatever died meanwhile, and is counted by its reason.',
  ],
  'agora:federation:changed': [
    'agora acceptance: cross-node sync 11',
    'Of messages in which one bit or one field was changed on their way none has an effect, whichever process hears it, and each is counted.',
  ],
  'agora:federation:liar': [
    'agora acceptance: cross-node sync 8',
    'A voter whose deployment signed two outcomes is void everywhere, in whatever order that becomes known, and all hold one ledger; what a deployment signs in the name of voters of others has no effect.',
  ],
  'agora:federation:alone': [
    'agora acceptance: cross-node sync 1',
    'A deployment without a name and a secret says what is missing and sends nothing.',
  ],
} as const;
