// A kernel that calls through a pointer, beside tables of functions that it does not reach.
struct Shape {
  __attribute__((device)) virtual float area(float x) const { return x; }
};
struct Square : Shape {
  __attribute__((device)) float area(float x) const override { return x * x; }
};

typedef float (*Call)(float);
__attribute__((device)) float twice(float x) { return 2 * x; }
__attribute__((device)) Call calls[1] = {twice};

__attribute__((global)) void caller(float *x) { *x = calls[0](*x); }

__attribute__((global)) void measure(float *x) {
  Square square;
  const Shape *any = *x > 0 ? static_cast<const Shape *>(&square) : reinterpret_cast<const Shape *>(x);
  *x = any->area(*x);
}
