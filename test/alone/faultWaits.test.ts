/**
 * Faults that a node only learns of by waiting: a database that is silent, slow, or keeps a row. Nearly all of their time is
 * waiting, so they run side by side, each in a database of its own.
 */
// oxlint-disable import/no-unassigned-import -- Each of them declares its tests.
import './faults/fresh.ts';
import './faults/hot.ts';
import './faults/slow.ts';
