// The other files as one unit: one compile in the place of six.
#include <cmath>
namespace saxpy_cu {
#include "saxpy.cu"
}
namespace device_state_cu {
#include "device_state.cu"
}
namespace private_state_cu {
#include "private_state.cu"
}
namespace device_math_cu {
#include "device_math.cu"
}
namespace reduction_cu {
#include "reduction.cu"
}
namespace knobs_cu {
#include "knobs.cu"
}
