/** What is thought of agents and users, and what they may do by that. */
export const HABITAT_TRUST = {
  'habitat:trust:unknown': [
    'trust acceptance 1',
    'Somebody nobody rated stands at 0.5 and stays unknown, however often one asks.',
  ],
  'habitat:trust:weight': [
    'trust acceptance 2',
    'One positive of the operator makes 0.55; one of a rater who stands at 0.4 makes 0.52.',
  ],
  'habitat:trust:kin': [
    'trust acceptance 3',
    'Rating oneself, a parent or a child is E_SELF_TRUST, a stranger E_NOT_RELATED; nothing changes.',
  ],
  'habitat:trust:concurrent': [
    'trust acceptance 5',
    'A hundred positives of 0.001 at once make exactly 0.6 out of 0.5, through every gateway.',
  ],
  'habitat:trust:required': [
    'trust acceptance 6',
    'An action that requires 0 admits a score of 0, and nobody in quarantine until the release.',
  ],
  'habitat:trust:quarantine': [
    'quarantine on every door',
    'Who is in quarantine, and whoever descends from it, only reads: on every door, with tokens minted before, for decisions, grants, spends, files and new agents alike.',
  ],
  'habitat:families:voices': [
    'families',
    'An editor with however many spawned agents moves no rating, no decision and no quota further than alone.',
  ],
  'habitat:families:bucket': ['families', 'An editor and all the agents it spawns share one rate bucket.'],
  'habitat:trust:values': [
    'trust acceptance 8',
    'Values outside 0 to 1 and texts are VAF_INPUT_INVALID; only an operator sets one at all.',
  ],
  'habitat:trust:limits': [
    'trust acceptance 9',
    'The sixth rating of one entity by one rater within a day is E_RATE_LIMIT, also when they come at once.',
  ],
  'habitat:trust:leaderboard': [
    'trust leaderboard',
    'The leaderboard shows members of shared workspaces by score, and leaves out the quarantined.',
  ],
  'habitat:trust:events': [
    'trust events',
    'A rating is told to the one rated and the rater, a changed requirement to operators alone.',
  ],
} as const;
