/**
 * A run that judges a change tries what runs before it tried, so that it says something of the change; what nobody tried
 * yet is looked for everywhere else. A property with a seed of its own keeps it.
 */
import * as fc from 'fast-check';

const SEED = 20_261_124;

if (process.env['CI'] !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
