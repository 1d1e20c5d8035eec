// The format of the stream's sound: Opus packets of 20 ms, decoded to 48 kHz.

/** Samples a second. */
export const SAMPLE_RATE = 48000;
/** Samples a millisecond. */
export const MS = SAMPLE_RATE / 1000;
/** Samples a packet. */
export const PACKET = 20 * MS;
/** The length of a packet in the unit of WebCodecs' timestamps. */
export const PACKET_MICROSECONDS = 20000;
