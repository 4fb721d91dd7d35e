/* Constants of functions with fdlibm in their names are those of FDLIBM:
   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro, a Sun Microsystems, Inc.
   business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this
   notice is preserved. */
