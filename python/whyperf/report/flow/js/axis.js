// Ticks, and numbers as text.
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const grouped = new Intl.NumberFormat("en-US");
const count = (value) => grouped.format(value);
const bytes = (value) => `${count(value)} byte${value === 1 ? "" : "s"}`;

// A time with nanoseconds, in seconds: 1.234 567 890 s.
function instant(ns) {
  const whole = Math.abs(Math.round(ns));
  const rest = String(whole % 1e9).padStart(9, "0").replace(/(...)(?=.)/g, "$1\u202f");
  return `${ns < 0 ? "−" : ""}${count(Math.floor(whole / 1e9))}.${rest} s`;
}

// A duration with three digits: 1.25 ms.
function span(ns) {
  const [scale, unit] = UNITS.find(([unit]) => ns >= unit * 0.9995) ?? UNITS[3];
  const value = ns / scale;
  return `${value >= 99.95 ? count(Math.round(value)) : value.toPrecision(3)} ${unit}`;
}

const step125 = (minimum) => {
  const power = 10 ** Math.floor(Math.log10(minimum));
  return [1, 2, 5, 10].find((factor) => factor * power >= minimum * 0.999999) * power;
};

// Ticks of the time axis. Leading digits that all ticks share are shown once, as `base`.
function timeTicks(start, end, maxTicks) {
  const step = Math.max(1, step125((end - start) / maxTicks));
  const [scale, unit] = UNITS.find(([unit]) => step >= unit / 100) ?? UNITS[3];
  const far = Math.max(Math.abs(start), Math.abs(end)) > 2000 * step;
  const around = step125((end - start) * 2);
  const base = far ? Math.floor(start / around) * around : 0;
  const ticks = [];
  for (let k = Math.ceil((start - base) / step); base + k * step <= end; k += 1) {
    const shown = (k * step) / scale;
    ticks.push({ at: base + k * step, text: `${far && k >= 0 ? "+" : ""}${count(+shown.toFixed(3))}` });
  }
  return { ticks, unit, base: far ? instant(base) : "" };
}

// The round limits of a value axis, its ticks, and their text. It starts at 0 unless `fit` is set.
function valueTicks(lowest, highest, binary, rows, fit) {
  const low = fit ? lowest : 0;
  const wanted = Math.max(highest - low, binary ? 1 : 1e-9);
  let step = binary && wanted > 2048 ? 2 ** Math.ceil(Math.log2(wanted / rows)) : step125(wanted / rows);
  if (binary) step = Math.max(1, step);
  const bottom = Math.floor(low / step) * step;
  const top = Math.ceil((Math.max(highest, low) + wanted * 0.02) / step) * step;
  const ticks = [];
  for (let value = bottom; value <= top + step / 1000; value += step) ticks.push(value);
  const write = (value) => {
    if (!binary || step < 1024 || !value) return count(+value.toFixed(3));
    const [scale, prefix] = step >= 1 << 20 ? [1 << 20, "Mi"] : [1 << 10, "Ki"];
    return `${count(value / scale)} ${prefix}`;
  };
  return { bottom, top, ticks, write };
}
