/**
 * Options of Node for a process with an embedded database that a test soon ends: one function of the database takes two
 * seconds of a core to optimise, more than that saves.
 */
export const SOON_ENDED: readonly string[] = ['--liftoff-only'];
